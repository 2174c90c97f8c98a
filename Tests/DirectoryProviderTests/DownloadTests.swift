import FileProvider
import Glibc
import Testing

@testable import DirectoryProvider

/// Bytes out of the store.
@Suite struct DownloadTests {
    private static let long = String(repeating: "0123456789abcdef", count: 200_000)

    @Test func rangesAndPieces() async throws {
        let store = try TestStore()
        let item = try await store.create("long", Self.long)
        expectEqual(try await store.download(item), Self.long.utf8)
        let sink = RangeSink()
        try await store.provider.startProvidingItem(
            item.identifier, version: item.version.content, range: 1_000_003..<1_000_010, into: sink)
        #expect(sink.bytes == Array(Array(Self.long.utf8)[1_000_003..<1_000_010]))
    }

    @Test func anotherVersionIsRefused() async throws {
        let store = try TestStore()
        let item = try await store.create("a", "old")
        store.overwriteInPlace("a", with: "NEW")
        let error = await failure { try await store.download(item) }
        #expect(error?.code == .versionMismatch)
        let now = try await store.item("a")
        #expect(error?.item == now)
        #expect(try await store.download(now) == Array("NEW".utf8))
    }

    @Test func bytesOfTwoVersionsNeverMix() async throws {
        let store = try TestStore()
        let item = try await store.create("long", Self.long)
        let sink = CollectingSink { store.overwriteInPlace("long", with: "changed while it is read") }
        let error = await failure {
            try await store.provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        }
        #expect(error?.code == .versionMismatch)
        #expect(error?.item?.version.content != item.version.content)
        expectEqual(sink.bytes, Self.long.utf8.prefix(64 << 10))
    }

    @Test func aDocumentReplacedByRenamingIsReadToItsEnd() async throws {
        let store = try TestStore()
        let item = try await store.create("long", Self.long)
        let sink = CollectingSink { store.replace("long", with: "another") }
        try await store.provider.startProvidingItem(
            item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        expectEqual(sink.bytes, Self.long.utf8)
    }

    @Test func cancellation() async throws {
        let store = try TestStore()
        let item = try await store.create("long", Self.long)
        let pieces = Counter()
        let task = Task {
            try await store.provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size,
                into: CollectingSink {
                    pieces.add()
                    withUnsafeCurrentTask { $0?.cancel() }
                })
        }
        #expect(await code { try await task.value } == .cancelled)
        #expect(pieces.value == 1)
    }

    @Test func onlyDocumentsHaveContents() async throws {
        let store = try TestStore()
        store.makeFolder("folder")
        let folder = try await store.item("folder")
        #expect(
            await code {
                try await store.provider.startProvidingItem(
                    folder.identifier, version: folder.version.content, range: 0..<1, into: CollectingSink())
            } == .unsupported)
    }
}

/// Not `==` within an expectation: that works out and prints the difference of megabytes when it fails.
private func expectEqual(
    _ bytes: [UInt8], _ expected: some Sequence<UInt8>, sourceLocation: SourceLocation = #_sourceLocation
) {
    let isEqual = bytes.elementsEqual(expected)
    #expect(isEqual, sourceLocation: sourceLocation)
}

private final class RangeSink: ContentSink {
    private let inner = CollectingSink()
    var bytes: [UInt8] { inner.bytes }
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        try await inner.write(bytes, at: Int64(inner.bytes.count))
    }
}
