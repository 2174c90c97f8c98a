import FileProvider
import FileProviderTesting
import Glibc
import ItemCatalog
import SyncEngine
import Testing
import Trees
import Volume

@Suite("user.hydrant.*", .timeLimit(.minutes(10))) struct OwnAttributeTests {
    private func value(_ name: String, _ path: String, _ test: TestVolume) async throws -> String {
        let node = try await test.lookUp(path).node
        return String(
            decoding: try test.volume.extendedAttribute(Array("user.hydrant.\(name)".utf8), of: node), as: UTF8.self)
    }

    @Test("state: the share of bytes that are here, and the other conditions")
    func state() async throws {
        let test = try TestVolume()
        try test.remote.put("f/a", [UInt8](repeating: 7, count: 20_000))
        #expect(try await value("state", "f", test) == "placeholder")
        #expect(try await value("state", "f/a", test) == "placeholder")
        #expect(try await value("state", "f", test) == "downloaded")
        let opened = try await test.open("f/a")
        test.provider.plan.inject(
            .truncatedDownload(after: 8_192, error: FileProviderError(.permissionDenied, "no more")),
            into: .startProvidingItem)
        _ = try await test.read(opened.handle, 0, 100)
        #expect(try await eventually { test.provider.plan.remainingFaults(for: .startProvidingItem) == 0 })
        #expect(try await value("state", "f/a", test) == "partial")
        test.volume.close(opened.handle)
        // (Whoever comes while the download is failing fails with it.)
        while (try? await test.contents("f/a")) == nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await value("state", "f/a", test) == "downloaded")
        let item = try test.catalog.read { try $0.item(identifiedBy: test.remote.item(at: "f")!.identifier)! }
        try await test.engine.setPinned(item.id, true)
        #expect(try await value("state", "f/a", test) == "downloaded,pinned")
        let writer = try await test.open("f/a", O_WRONLY)
        try test.write(writer.handle, "x")
        #expect(try await value("state", "f/a", test) == "downloaded,modified,pinned")
        try test.close(writer.handle)
        try await test.save("new~", "x")
        #expect(try await value("state", "new~", test) == "downloaded,excluded")
    }

    @Test("identifier and version are the provider's; an item that the provider does not know has neither")
    func identity() async throws {
        let test = try TestVolume(settle: 3_600)
        let item = try test.remote.put("a", "text")
        #expect(try await value("identifier", "a", test) == item.identifier.rawValue)
        #expect(try await value("version", "a", test) == item.version.content.description)
        try await test.save("new", "x")
        for name in ["identifier", "version"] {
            #expect(await errnoOf { _ = try await value(name, "new", test) } == ENODATA)
        }
        #expect(await errnoOf { _ = try await value("other", "a", test) } == ENODATA)
    }

    @Test(
        "user.hydrant.* is not listed and cannot be set or removed, and the store's attributes of these names are hidden"
    )
    func copying() async throws {
        let test = try TestVolume()
        try test.remote.put("a", "text")
        try test.remote.setExtendedAttributes(
            ["user.hydrant.state": Array("theirs".utf8), "user.mine": Array("1".utf8)], at: "a")
        let node = try await test.lookUp("a").node
        let names = try test.volume.extendedAttributeNames(of: node, isSuperuser: true)
        #expect(String(decoding: names, as: UTF8.self) == "user.mine\0")
        #expect(try await value("state", "a", test) == "placeholder")
        for name in ["state", "identifier", "version"].map({ Array("user.hydrant.\($0)".utf8) }) {
            #expect(
                await errnoOf { try test.volume.setExtendedAttribute(name, to: [1], of: node, presence: .any) } == EPERM
            )
            #expect(await errnoOf { try test.volume.removeExtendedAttribute(name, of: node) } == EPERM)
        }
        // Other names are the user's.
        try test.volume.setExtendedAttribute(Array("user.hydrant.x".utf8), to: [1], of: node, presence: .any)
        #expect(try await test.sync().isEmpty)
        let stored = try #require(test.remote.item(at: "a")?.extendedAttributes)
        #expect(stored.keys.sorted() == ["user.hydrant.state", "user.hydrant.x", "user.mine"])
        #expect(stored["user.hydrant.state"] == Array("theirs".utf8))
        await test.engine.stop()
    }
}
