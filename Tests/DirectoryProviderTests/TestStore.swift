import FileProvider
import Foundation
import Glibc
import Logging
import Synchronization

@testable import DirectoryProvider

/// A real directory, a provider on it, and "another program" that works in it with plain calls.
final class TestStore: Sendable {
    let root: String
    let provider: DirectoryProvider

    init(seams: Seams = Seams(), in base: String = "/tmp") throws {
        var template = Array("\(base)/hydrant-dp.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw FileProviderError(.cannotSynchronize, "mkdtemp") }
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        provider = try DirectoryProvider(root: root, logger: Self.quiet, seams: seams)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// As after a restart of the daemon.
    func again(seams: Seams = Seams()) throws -> DirectoryProvider {
        try DirectoryProvider(root: root, logger: Self.quiet, seams: seams)
    }

    /// What such a one says of an item, of whose contents nothing has passed through it.
    func afterRestart(_ identifier: ItemIdentifier) async throws -> Item {
        try await again().providePlaceholder(for: identifier)
    }

    // MARK: Another program

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path(name), directoryHint: .notDirectory))
    }

    /// As editors save: a new file, renamed over.
    func replace(_ name: String, with text: String) {
        try! write(text, to: name + ".new")
        precondition(rename(path(name + ".new"), path(name)) == 0)
    }

    func overwriteInPlace(_ name: String, with text: String) {
        let file = open(path(name), O_WRONLY)
        precondition(file >= 0 && pwrite(file, text, text.utf8.count, 0) == text.utf8.count)
        close(file)
    }

    func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: path(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    func makeFolder(_ name: String) { precondition(mkdir(path(name), 0o755) == 0) }

    /// With hidden ones.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: root))?.sorted() ?? [] }

    /// The contents of every conflicted copy in the root.
    var conflictedCopies: [String] {
        names.filter { $0.contains("(conflicted copy, ") }.compactMap { read($0) }
    }

    @discardableResult
    func shell(_ command: String) -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh", directoryHint: .notDirectory)
        process.arguments = ["-c", "cd '\(root)' && \(command)"]
        try! process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// An access list of (kind, rights, whose) as acl(5) has them: `u` and `g` (with a number, a named one), `m`, `o`. For a
    /// folder also that of what is made in it. (setfacl(1) is not on every machine.)
    ///
    /// - Returns: false where the file system has none.
    func setList(_ entries: String, of name: String, isDefault: Bool = false) -> Bool {
        let kinds: [String: (own: UInt8, named: UInt8)] = ["u": (1, 2), "g": (4, 8), "m": (16, 16), "o": (32, 32)]
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries.split(separator: ",").map({ $0.split(separator: ":", omittingEmptySubsequences: false) }) {
            let (kind, whose) = (kinds[String(entry[0])]!, UInt32(entry[1]))
            let rights = zip("rwx", [4, 2, 1] as [UInt8]).reduce(0) { entry[2].contains($1.0) ? $0 | $1.1 : $0 }
            bytes += [whose == nil ? kind.own : kind.named, 0, rights, 0]
            bytes += withUnsafeBytes(of: (whose ?? .max).littleEndian, Array.init)
        }
        let attribute = isDefault ? "system.posix_acl_default" : "system.posix_acl_access"
        return (try? AttributedFile(Descriptor(open(path(name), O_RDONLY))).set(attribute, to: bytes)) != nil
    }

    /// Of one entry of the access list; nil: there is none of this kind and number.
    func rights(_ kind: UInt8, _ whose: UInt32, of name: String) -> UInt8? {
        let file = AttributedFile(Descriptor(open(path(name), O_RDONLY)))
        guard let bytes = try? file.value(of: AccessList.attribute) else { return nil }
        let number = withUnsafeBytes(of: whose.littleEndian, Array.init)
        for offset in stride(from: 4, to: bytes.count, by: 8) where bytes[offset] == kind {
            if bytes[(offset + 4)..<(offset + 8)].elementsEqual(number) { return bytes[offset + 2] }
        }
        return nil
    }

    // MARK: Through the provider

    func items(
        in folder: ItemIdentifier = .rootContainer, of other: DirectoryProvider? = nil
    ) async throws -> [Item] {
        var items: [Item] = []
        var page: Page?
        repeat {
            let next = try await (other ?? provider).enumerateItems(in: folder, startingAt: page)
            items += next.items
            page = next.nextPage
        } while page != nil
        return items
    }

    func item(
        _ name: String, in folder: ItemIdentifier = .rootContainer, of other: DirectoryProvider? = nil
    ) async throws -> Item {
        guard
            let item = try await items(in: folder, of: other).first(where: { $0.filename == Filename(name) })
        else { throw FileProviderError(.noSuchItem, name) }
        return item
    }

    func create(
        _ name: Filename, _ text: String, in folder: ItemIdentifier = .rootContainer
    ) async throws -> Item {
        try await provider.createItem(
            ItemTemplate(
                parentIdentifier: folder, filename: name, kind: .document,
                contentModificationDate: FileTime(seconds: 1_000_000_000, nanoseconds: 7)),
            contents: TextSource(text))
    }

    func change(
        _ item: Item, to text: String, source: (any ContentSource)? = nil, base: ItemVersion? = nil
    ) async throws -> Item {
        try await provider.itemChanged(
            item.identifier, contents: source ?? TextSource(text),
            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 1_500_000_000)),
            baseVersion: base ?? item.version)
    }

    func download(_ item: Item) async throws -> [UInt8] {
        let sink = CollectingSink()
        if item.size > 0 {
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        return sink.bytes
    }
}

extension Item {
    /// As somebody tells it who has not read its contents.
    var withoutDigest: Item {
        var item = self
        guard var text = MetadataText(version.metadata) else { return self }
        text.digest = nil
        item.version.metadata = text.version
        return item
    }
}

/// Text, or less of it than was announced; `onRead` is the moment in mid-upload.
struct TextSource: ContentSource {
    let bytes: [UInt8]
    let size: Int64
    var onRead: @Sendable () -> Void = {}

    init(_ text: String, announcing size: Int64? = nil, onRead: @escaping @Sendable () -> Void = {}) {
        bytes = Array(text.utf8)
        self.size = size ?? Int64(bytes.count)
        self.onRead = onRead
    }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        onRead()
        guard offset < bytes.count else { return [] }
        return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
    }
}

/// Keeps what arrives, in order; `onWrite` is the moment in mid-download.
final class CollectingSink: ContentSink {
    private let state = Mutex<[UInt8]>([])
    private let onWrite: @Sendable () -> Void
    init(onWrite: @escaping @Sendable () -> Void = {}) { self.onWrite = onWrite }

    var bytes: [UInt8] { state.withLock { $0 } }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        state.withLock { state in
            precondition(state.count == Int(offset))
            state += bytes
        }
        onWrite()
    }
}

/// Seams of a file system that has less.
extension Seams {
    static func with(_ change: (inout Seams) -> Void) -> Seams {
        var seams = Seams()
        change(&seams)
        return seams
    }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws -> some Any) async -> FileProviderError.Code? {
    await failure(body)?.code
}

func failure(_ body: () async throws -> some Any) async -> FileProviderError? {
    do { _ = try await body() } catch { return error as? FileProviderError }
    return nil
}
