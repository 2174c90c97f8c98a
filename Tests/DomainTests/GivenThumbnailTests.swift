import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import SyncEngine
import Testing

/// Pictures that programs give: what becomes of them when the store fails.
@Suite("Given thumbnails") struct GivenThumbnailTests {
    private static let picture = Thumbnail(bytes: ThumbnailTests.png)

    private func give(_ served: ServedDomain, _ name: String) throws {
        let path = served.sandbox.scratch + "/given.png"
        try Data(Self.picture.bytes).write(to: URL(filePath: path, directoryHint: .notDirectory))
        let result = try served.hydrant("thumbnail", served.sandbox.mountPoint + "/" + name, "--set", path)
        guard result.succeeded else { throw HarnessError("\(result)") }
    }

    private func onShelf(_ served: ServedDomain, _ item: Item) -> Thumbnail? {
        served.engine.thumbnails.thumbnail(of: item.identifier, item.version.content)
    }

    @Test("a store that fails for a while gets the thumbnail later; the document does not wait")
    func later() async throws {
        let provider = FaultInjectingProvider(InMemoryProvider(features: .all))
        provider.plan.fail(.keepThumbnail, times: 2, with: .cannotSynchronize)
        provider.plan.fail(.keepThumbnail, times: 1, with: .serverUnreachable)
        try await withServed(provider) { served in
            try served.run("echo new >document")
            try give(served, "document")
            try served.sync()
            let item = try #require(provider.base.item(at: "document"))
            try waitUntil(30, "the store has it") {
                try provider.base.givenThumbnail(at: "document") == Self.picture.bytes
            }
            #expect(provider.plan.attempts(of: .keepThumbnail) >= 4)
            try waitUntil(10, "it is here, too") { onShelf(served, item) == Self.picture }
        }
    }

    @Test(
        "a thumbnail that the store refuses stays on this machine",
        arguments: ["insufficientQuota", "unsupported", "readOnly"])
    func refused(_ name: String) async throws {
        let provider = FaultInjectingProvider(InMemoryProvider(features: .all))
        let codes: [String: FileProviderError.Code] = [
            "insufficientQuota": .insufficientQuota, "unsupported": .unsupported, "readOnly": .readOnly,
        ]
        provider.plan.fail(.keepThumbnail, times: 100, with: try #require(codes[name]))
        try await withServed(provider) { served in
            try served.run("echo new >document")
            try give(served, "document")
            try served.sync()
            let item = try #require(provider.base.item(at: "document"))
            try waitUntil(20, "it is here") { onShelf(served, item) == Self.picture }
            #expect(provider.plan.attempts(of: .keepThumbnail) == 1)
            #expect(try provider.base.givenThumbnail(at: "document") == nil)
            let found = try served.hydrant("thumbnail", served.sandbox.mountPoint + "/document")
            #expect(found.succeeded, "\(found)")
        }
    }
}
