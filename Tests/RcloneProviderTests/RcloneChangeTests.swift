import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Synchronization
import Testing

@testable import RcloneProvider

/// What happens to changes that others make in the store at the same moment.
@Suite("Rclone: changes by others", .timeLimit(.minutes(5))) struct RcloneChangeTests {
    private static func create(
        _ provider: RcloneProvider, _ name: String, _ text: String, date: Int64 = 1_700_000_000
    ) async throws -> Item {
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: Filename(name), kind: .document,
            contentModificationDate: FileTime(seconds: date, nanoseconds: 123_456_789))
        return try await provider.createItem(template, contents: BytesSource(text))
    }

    private static func metadata(_ date: Int64) -> ItemMetadata {
        ItemMetadata(contentModificationDate: FileTime(seconds: date, nanoseconds: 5))
    }

    private static func text(_ provider: RcloneProvider, _ item: Item) async throws -> String {
        let sink = CollectingSink(range: 0..<item.size)
        if item.size > 0 {
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        return String(decoding: try #require(sink.bytes), as: UTF8.self)
    }

    private static func names(_ remote: RcloneRemote) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: remote.root).sorted()
    }

    @Test(arguments: [RemoteKind.local, .sftp, .crypt, .webdav, .s3])
    func aChangeBetweenLookAndSendStays(_ kind: RemoteKind) async throws {
        try await withRemote(kind) { remote in
            let provider = try remote.provider()
            let other = try remote.provider()
            let item = try await Self.create(provider, "a.txt", "one")
            // The other one saves after this one has looked, while it reads what it is about to send.
            let source = MeddledSource("mine, longer") {
                _ = try await other.itemChanged(
                    item.identifier, contents: BytesSource("theirs!"), metadata: Self.metadata(1_700_000_100),
                    baseVersion: item.version)
            }
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.itemChanged(
                    item.identifier, contents: source, metadata: Self.metadata(1_700_000_200),
                    baseVersion: item.version)
            }
            #expect(error?.code == .versionMismatch, "\(String(describing: error))")
            let theirs = try #require(error?.item)
            #expect(try await Self.text(provider, theirs) == "theirs!")
            // And nothing of the attempt is left.
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.items.map(\.filename.string) == ["a.txt"] && page.leftOut.isEmpty)
            if kind == .local || kind == .sftp { #expect(try Self.names(remote) == ["a.txt"]) }
            await provider.invalidate()
            await other.invalidate()
        }
    }

    @Test(arguments: [RemoteKind.local, .sftp, .crypt, .webdav, .s3])
    func aDocumentThatComesUnderTheNameStays(_ kind: RemoteKind) async throws {
        try await withRemote(kind) { remote in
            let provider = try remote.provider()
            let other = try remote.provider()
            let template = ItemTemplate(
                parentIdentifier: .rootContainer, filename: "a.txt", kind: .document,
                contentModificationDate: FileTime(seconds: 1_700_000_000))
            let source = MeddledSource("mine, longer") { _ = try await Self.create(other, "a.txt", "theirs!") }
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.createItem(template, contents: source)
            }
            #expect(error?.code == .filenameCollision, "\(String(describing: error))")
            #expect(try await Self.text(provider, try #require(error?.item)) == "theirs!")
            await provider.invalidate()
            await other.invalidate()
        }
    }

    /// The document is changed when it has just been moved aside: that version gets its name back. (A program that has
    /// the file open writes on after the move; so the test holds the swap at a draft that is slow to come.)
    @Test func aChangeWhileItIsSentStays() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(["RCLONE_BWLIMIT": "1M"])
            let item = try await Self.create(provider, "a.txt", "one")
            let path = remote.root + "/a.txt"
            let sending = Task {
                try await provider.itemChanged(
                    item.identifier, contents: BytesSource([UInt8](repeating: 7, count: 8 << 20)),
                    metadata: Self.metadata(1_700_000_200), baseVersion: item.version)
            }
            try await eventually { try Self.names(remote).contains { $0.hasPrefix(".hydrant-new-") } }
            try "theirs!".write(toFile: path, atomically: true, encoding: .utf8)
            let error = await #expect(throws: FileProviderError.self) { try await sending.value }
            #expect(error?.code == .versionMismatch, "\(String(describing: error))")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs!")
            #expect(try Self.names(remote) == ["a.txt"])
            await provider.invalidate()
        }
    }

    /// The window that is left, and that the documentation names: where a document is not swapped, what others change
    /// between the last look and the end of the transfer is overwritten.
    @Test func withoutSwapsAChangeWhileItIsSentIsOverwritten() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(["RCLONE_BWLIMIT": "1M"])
            // Too long a name for companions.
            let name = String(repeating: "n", count: 120)
            let item = try await Self.create(provider, name, "one")
            let path = remote.root + "/" + name
            let sending = Task {
                try await provider.itemChanged(
                    item.identifier, contents: BytesSource([UInt8](repeating: 7, count: 8 << 20)),
                    metadata: Self.metadata(1_700_000_200), baseVersion: item.version)
            }
            // rclone's own temporary name.
            try await eventually { try Self.names(remote).contains { $0.hasSuffix(".partial") } }
            try "theirs!".write(toFile: path, atomically: true, encoding: .utf8)
            let sent = try await sending.value
            #expect(sent.size == 8 << 20)
            #expect(try Data(contentsOf: URL(filePath: path)).count == 8 << 20)
            await provider.invalidate()
        }
    }

    @Test func aSwapThatWasCutOffIsUndone() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            let item = try await Self.create(provider, "a.txt", "one")
            let (path, aside) = (remote.root + "/a.txt", remote.root + "/.hydrant-old-0a1b2c3d-a.txt")
            // As a kill between the two renames leaves it.
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            let changed = try await provider.itemChanged(
                item.identifier, contents: BytesSource("two!"), metadata: Self.metadata(1_700_000_200),
                baseVersion: item.version)
            #expect(try await Self.text(provider, changed) == "two!")
            #expect(try Self.names(remote) == ["a.txt"])

            // Where nobody tries again, the listing brings it back, but not while a swap may be under way.
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            let listed = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(listed.items.map(\.identifier) == [changed.identifier])
            #expect(try Self.names(remote) == [".hydrant-old-0a1b2c3d-a.txt"])
            provider.orphans.patience = .zero
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.items.map(\.identifier) == [changed.identifier])
            #expect(page.items.first?.version.content == changed.version.content)
            #expect(try Self.names(remote) == ["a.txt"])
            await provider.invalidate()
        }
    }

    private static let aside = ".hydrant-old-0a1b2c3d-a.txt"

    /// As a kill between the second rename of a swap and its last step leaves it.
    private static func leave(_ remote: RcloneRemote) throws {
        try "before".write(toFile: remote.root + "/" + aside, atomically: true, encoding: .utf8)
    }

    @Test func whatASwapHasLeftDoesNotComeBack() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            let item = try await Self.create(provider, "a.txt", "one")
            try Self.leave(remote)
            let moved = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "b.txt", baseVersion: item.version)
            #expect(try Self.names(remote) == ["b.txt"])
            try FileManager.default.moveItem(atPath: remote.root + "/b.txt", toPath: remote.root + "/a.txt")
            try Self.leave(remote)
            try await provider.deleteItem(item.identifier, baseVersion: moved.version)
            #expect(try Self.names(remote).isEmpty)

            // Nor where somebody else deletes the document: a listing removes what has been beside it for long.
            _ = try await Self.create(provider, "a.txt", "one")
            try Self.leave(remote)
            _ = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(try Self.names(remote) == [Self.aside, "a.txt"])
            provider.orphans.patience = .zero
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.items.map(\.filename.string) == ["a.txt"])
            #expect(try Self.names(remote) == ["a.txt"])
            await provider.invalidate()
        }
    }

    @Test func aDocumentThatIsOnlyAsideIsMovedAndDeleted() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            let item = try await Self.create(provider, "a.txt", "one")
            let (path, aside) = (remote.root + "/a.txt", remote.root + "/" + Self.aside)
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            _ = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "b.txt", baseVersion: item.version)
            #expect(try Self.names(remote) == ["b.txt"])
            try FileManager.default.moveItem(atPath: remote.root + "/b.txt", toPath: aside)
            try await provider.deleteItem(item.identifier, baseVersion: item.version)
            #expect(try Self.names(remote).isEmpty)
            await provider.invalidate()
        }
    }

    @Test func aFolderWithAnOldMarkIsEmpty() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            try FileManager.default.createDirectory(atPath: remote.root + "/to", withIntermediateDirectories: true)
            try await provider.put("to/" + ReservedName.move(from: "from/"))
            let folder = try await provider.providePlaceholder(for: ItemIdentifier("to/"))
            try await provider.deleteItem(folder.identifier, baseVersion: folder.version)
            #expect(try Self.names(remote).isEmpty)
            await provider.invalidate()
        }
    }

    /// A swap does not wait for the transfers that go on: its document has no name meanwhile.
    @Test func aRenameTakesNoTurnAmongTransfers() async throws {
        try await withRemote(.local) { remote in
            try Data(count: 8 << 20).write(to: URL(filePath: remote.root + "/big"))
            let provider = try remote.provider(["RCLONE_BWLIMIT": "200k"])
            let item = try await Self.create(provider, "a.txt", "one")
            let big = try await provider.providePlaceholder(for: ItemIdentifier("big"))
            let (started, continuation) = AsyncStream.makeStream(of: Void.self)
            let reads = (0..<8).map { _ in
                Task {
                    try await provider.startProvidingItem(
                        big.identifier, version: big.version.content, range: 0..<big.size,
                        into: FirstBytes { continuation.yield() })
                }
            }
            var starts = started.makeAsyncIterator()
            for _ in reads { await starts.next() }
            // (The reads take minutes.)
            let moved = try await provider.moveItem(
                item.identifier, to: .rootContainer, as: "b.txt", baseVersion: item.version)
            #expect(moved.filename == "b.txt")
            for read in reads { read.cancel() }
            for read in reads { _ = await read.result }
            await provider.invalidate()
        }
    }

    @Test func aDocumentThatCannotBeOpenedIsNotTakenForAnother() async throws {
        try await withRemote(.local) { remote in
            // (The superuser opens everything, but not without this right.)
            let program = remote.directory + "/rclone"
            let words = geteuid() == 0 ? "setpriv --bounding-set=-dac_override,-dac_read_search -- " : ""
            try "#!/bin/sh\nexec \(words)'\(RcloneRemote.program)' \"$@\"\n".write(
                toFile: program, atomically: true, encoding: .utf8)
            chmod(program, 0o755)
            let provider = try remote.provider(["RCLONE": program])
            let item = try await Self.create(provider, "a.txt", "one")
            chmod(remote.root + "/a.txt", 0)
            let error = await #expect(throws: FileProviderError.self) { try await Self.text(provider, item) }
            #expect(error?.code == .cannotSynchronize, "\(String(describing: error))")
            #expect(error?.message.contains("cannot open it") ?? false, "\(String(describing: error))")
            await provider.invalidate()
        }
    }

    @Test func aDeletionSparesAnotherVersion() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            let item = try await Self.create(provider, "a.txt", "one")
            try "theirs!".write(toFile: remote.root + "/a.txt", atomically: true, encoding: .utf8)
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.deleteItem(item.identifier, baseVersion: item.version)
            }
            #expect(error?.code == .versionMismatch && error?.item?.size == 7)
            await provider.invalidate()
        }
    }

    @Test func aNameThatComesBackAsAnotherIsRefused() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(at: "store,unicode_normalization=true:\(remote.root)")
            let error = await #expect(throws: FileProviderError.self) {
                try await Self.create(provider, "Cafe\u{301}.txt", "decomposed")
            }
            #expect(error?.code == .invalidName, "\(String(describing: error))")
            #expect(try Self.names(remote).isEmpty)
            let item = try await Self.create(provider, "Caf\u{e9}.txt", "composed")
            let refused = await #expect(throws: FileProviderError.self) {
                try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "Cafe\u{301}2.txt", baseVersion: item.version)
            }
            #expect(refused?.code == .invalidName)
            #expect(try await Self.text(provider, item) == "composed")
            await provider.invalidate()
        }
    }

    @Test func whereCaseDoesNotCountANameIsTaken() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(at: "store,case_insensitive=true:\(remote.root)")
            let item = try await Self.create(provider, "Notes.txt", "one")
            let error = await #expect(throws: FileProviderError.self) {
                try await Self.create(provider, "NOTES.TXT", "two")
            }
            #expect(error?.code == .filenameCollision && error?.item?.identifier == item.identifier)
            await provider.invalidate()
        }
    }

    /// A move of a folder, where the store has none, is cut off: the next attempt goes on.
    @Test func aFolderThatWasMovedHalfwayIsMovedOn() async throws {
        try await withRemote(.s3) { remote in
            let provider = try remote.provider()
            let folder = ItemTemplate(
                parentIdentifier: .rootContainer, filename: "from", kind: .folder,
                contentModificationDate: FileTime(seconds: 1))
            let source = try await provider.createItem(folder, contents: nil)
            for number in 0..<5 {
                let template = ItemTemplate(
                    parentIdentifier: source.identifier, filename: Filename("\(number)"), kind: .document,
                    contentModificationDate: FileTime(seconds: 1_700_000_000))
                _ = try await provider.createItem(template, contents: BytesSource("text \(number)"))
            }
            // As the first attempt leaves it: its mark, and some of the documents.
            try remote.rclone(["moveto", "\(remote.location)/from/0", "\(remote.location)/to/0"])
            try await provider.put("to/" + ReservedName.move(from: "from/"))
            let moved = try await provider.moveItem(
                source.identifier, to: .rootContainer, as: "to", baseVersion: source.version)
            let page = try await provider.enumerateItems(in: moved.identifier, startingAt: nil)
            #expect(Set(page.items.map(\.filename.string)) == ["0", "1", "2", "3", "4"])
            let rest = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(rest.items.map(\.filename.string) == ["to"])
            // Another folder's move does not go into it.
            let other = try await provider.createItem(folder, contents: nil)
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.moveItem(
                    other.identifier, to: .rootContainer, as: "to", baseVersion: other.version)
            }
            #expect(error?.code == .filenameCollision)
            await provider.invalidate()
        }
    }
}

/// Contents during whose reading something happens, once.
final class MeddledSource: ContentSource {
    private let bytes: BytesSource
    private let meddle: @Sendable () async throws -> Void
    private let isDone = Mutex(false)

    init(_ text: String, _ meddle: @escaping @Sendable () async throws -> Void) {
        bytes = BytesSource(text)
        self.meddle = meddle
    }

    var size: Int64 { bytes.size }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        let isFirst = isDone.withLock { done in
            defer { done = true }
            return !done
        }
        if isFirst {
            do { try await meddle() } catch {
                throw FileProviderError(.cannotSynchronize, "the test's change failed: \(error)")
            }
        }
        return try await bytes.read(at: offset, upTo: count)
    }
}
