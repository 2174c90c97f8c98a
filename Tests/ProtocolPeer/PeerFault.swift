import FileProvider
import FileProviderTesting
import Foundation
import ProcessProvider

/// How a provider program can misbehave.
enum PeerFault: String {
    /// It ends by itself when `crash.txt` is read, after the first piece.
    case crashes
    /// It answers nothing any more, not even a ping, when `hang.txt` is read.
    case hangs
    /// It answers pings, but never a read of `hang.txt`, cancelled or not.
    case neverAnswers
    /// It prints something to its standard output.
    case prints
    /// It ends before it says anything.
    case ends
    /// It says nothing.
    case silent
    /// It says hello in a version of the future.
    case tooNew
    /// It starts a process that outlives it, and crashes when `crash.txt` is read.
    case leavesChild

    func serve(_ words: [String]) async throws {
        switch self {
        case .ends: exit(3)
        case .silent: try await Task.sleep(for: .seconds(3_600))
        case .prints: FileHandle.standardOutput.write(Data("Welcome to the provider!\n".utf8))
        case .tooNew:
            let hello = Frame.json(Array(#"{"method":"hello","params":{"versions":[7]}}"#.utf8)).encoded
            FileHandle.standardOutput.write(Data(hello))
            try await Task.sleep(for: .seconds(3_600))
        case .leavesChild:
            // (Foundation's Process would give it a process group of its own.)
            _ = system("sleep 3600 & echo child $! >&2")
        default: break
        }
        FileHandle.standardError.write(Data("\(getpid()) serves\u{1b}[31m\n".utf8))
        try await PeerServer(FaultyStore(fault: self)).serve(dup(0))
    }
}

/// Some documents in memory; reading one of them has the fault.
private struct FaultyStore: PeerForwarding {
    let fault: PeerFault
    let base: InMemoryProvider
    // (The default for a private type has an address in it, which is another one in each run.)
    let providerIdentifier = "org.hydrant.faulty"

    init(fault: PeerFault) throws {
        self.fault = fault
        base = InMemoryProvider()
        for name in ["hello.txt", "crash.txt", "hang.txt"] {
            _ = try base.put(name, String(repeating: "x", count: 100))
        }
    }

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let name = try await base.providePlaceholder(for: identifier).filename.string
        switch (fault, name) {
        case (.crashes, "crash.txt"), (.leavesChild, "crash.txt"):
            try await sink.write([UInt8](repeating: UInt8(ascii: "x"), count: 10), at: range.lowerBound)
            abort()
        case (.hangs, "hang.txt"):
            kill(getpid(), SIGSTOP)
            // (It stops all threads, but not at once.)
            sleep(1_000)
        case (.neverAnswers, "hang.txt"):
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                // (Never; but the continuation must not be lost.)
                Thread {
                    while true { sleep(1_000) }
                    continuation.resume()
                }.start()
            }
        default: break
        }
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }
}

/// The store in memory, without its optional abilities.
struct PlainStore: PeerForwarding {
    let base: InMemoryProvider

    func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
    }
}

protocol PeerForwarding: FileProviderExtension {
    var base: InMemoryProvider { get }
}

extension PeerForwarding {
    func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        try await base.providePlaceholder(for: identifier)
    }
    func enumerateItems(in folder: ItemIdentifier, startingAt page: Page?) async throws(FileProviderError) -> ItemPage {
        try await base.enumerateItems(in: folder, startingAt: page)
    }
    func itemChanged(
        _ identifier: ItemIdentifier, contents: any ContentSource, metadata: ItemMetadata, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await base.itemChanged(identifier, contents: contents, metadata: metadata, baseVersion: baseVersion)
    }
    func createItem(_ template: ItemTemplate, contents: (any ContentSource)?) async throws(FileProviderError) -> Item {
        try await base.createItem(template, contents: contents)
    }
    func moveItem(
        _ identifier: ItemIdentifier, to folder: ItemIdentifier, as filename: Filename, baseVersion: ItemVersion
    ) async throws(FileProviderError) -> Item {
        try await base.moveItem(identifier, to: folder, as: filename, baseVersion: baseVersion)
    }
    func deleteItem(_ identifier: ItemIdentifier, baseVersion: ItemVersion) async throws(FileProviderError) {
        try await base.deleteItem(identifier, baseVersion: baseVersion)
    }
}
