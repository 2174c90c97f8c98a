import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees
import Volume

@Suite struct LookupTests {
    private let test: TestVolume

    init() throws { test = try TestVolume() }

    @Test func theFirstLookWaitsForTheListingAndTheSecondDoesNot() async throws {
        try test.remote.put("a", "text")
        guard case .wait(let wait) = try test.volume.lookUp("a", in: .root) else {
            Issue.record("answered without knowing")
            return
        }
        try await wait.run()
        guard case .ready(let found?) = try test.volume.lookUp("a", in: .root) else {
            Issue.record("not there after the listing")
            return
        }
        #expect(found.attributes.record.size == 4)
        guard case .ready(nil) = try test.volume.lookUp("b", in: .root) else {
            Issue.record("an absent name was not answered from the catalog")
            return
        }
        #expect(test.remote.calls(of: .enumerateItems).count == 1)
        #expect(test.remote.calls(of: .startProvidingItem).isEmpty)
    }

    @Test func anInodeHasOneNode() async throws {
        try test.remote.put("f/a", "text")
        let first = try await test.lookUp("f/a")
        let second = try await test.lookUp("f/a")
        #expect(first.node == second.node)
        #expect(first.node != .root)
        #expect(try test.volume.parent(of: first.node) == (try await test.lookUp("f")).attributes.record.id)
    }

    /// The first listing changes a folder's link count, and its program goes on before the kernel has been told.
    @Test func theKernelKeepsAFoldersAttributesOnlyWhenItHasBeenListed() async throws {
        try test.remote.mkdir("f/inner")
        let before = try await test.lookUp("f")
        #expect(!before.attributes.isStable && before.attributes.record.linkCount == 2)
        _ = try await test.lookUp("f/inner")
        let after = try test.volume.attributes(of: before.node)
        #expect(after.isStable && after.record.linkCount == 3)
    }

    /// With the documents gone from its memory, and the names still in it, each would be a request.
    @Test func whenTheKernelForgetsManyDocumentsItForgetsTheListingsToo() async throws {
        try test.remote.mkdir("f")
        for number in 0..<300 { try test.remote.put("f/\(number)", "text") }
        let folder = try await test.lookUp("f").node
        for round in 1...2 {
            var nodes: [NodeID] = []
            try await test.answer { try test.volume.listed(folder) }
            for entry in try test.volume.entries(of: folder, after: 0, limit: 1_000) {
                nodes.append(test.volume.reference(entry.inode).node)
            }
            #expect(nodes.count == 300)
            test.kernel.forgetEvents()
            for node in nodes.dropLast(60) { test.volume.kernelForgets(node, count: 1) }
            // (In the second round there are 44 of the first one besides.)
            #expect(test.kernel.events == (round == 1 ? [] : [.contents(folder)]))
            for node in nodes.suffix(60) { test.volume.kernelForgets(node, count: 1) }
            #expect(test.kernel.events == [.contents(folder)])
        }
        // Nobody has listed it since.
        test.kernel.forgetEvents()
        for _ in 0..<600 { test.volume.kernelForgets(try await test.lookUp("f/1").node, count: 1) }
        #expect(test.kernel.events.isEmpty)
    }

    @Test func aForgottenNodeIsUnknown() async throws {
        try test.remote.put("a", "text")
        let node = try await test.lookUp("a").node
        _ = try await test.lookUp("a")
        test.volume.forget(node, count: 1)
        #expect(try test.volume.attributes(of: node).record.size == 4)
        test.volume.forget(node, count: 1)
        #expect(await errnoOf { _ = try test.volume.attributes(of: node) } == ESTALE)
        let again = try await test.lookUp("a").node
        #expect(try test.volume.attributes(of: again).record.size == 4)
        // The root is never forgotten.
        test.volume.forget(.root, count: 100)
        #expect(try test.volume.attributes(of: .root).record.isFolder)
    }

    @Test func anUnreachableStoreIsAnErrorNotAnEmptyFolder() async throws {
        test.provider.plan.isOffline = true
        #expect(await errnoOf { _ = try await test.lookUp("a") } == EHOSTUNREACH)
        test.provider.plan.isOffline = false
        try test.remote.put("a", "text")
        #expect(try await test.find("a") != nil)
        // What has been seen stays when the line is cut.
        test.provider.plan.isOffline = true
        #expect(try await test.find("a") != nil)
        #expect(try await test.find("b") == nil)
    }

    @Test func theErrorsOfNames() async throws {
        try test.remote.put("a", "text")
        let document = try await test.lookUp("a").node
        let long = Filename(String(repeating: "n", count: 256))
        #expect(await errnoOf { _ = try test.volume.lookUp(long, in: .root) } == ENAMETOOLONG)
        #expect(await errnoOf { _ = try test.volume.lookUp("b", in: document) } == ENOTDIR)
        #expect(await errnoOf { _ = try test.volume.lookUp("b", in: NodeID(rawValue: 999)) } == ESTALE)
        #expect(await errnoOf { _ = try await test.create("a") } == EEXIST)
        #expect(await errnoOf { _ = try await test.create("..") } == EINVAL)
        #expect(await errnoOf { _ = try await test.create("x/y") } == EINVAL)
        #expect(await errnoOf { _ = try test.volume.open(.root, flags: O_RDONLY) } == EISDIR)
        #expect(await errnoOf { _ = try test.volume.readLink(document) } == EINVAL)
        #expect(await errnoOf { _ = try await test.answer { try test.volume.unlink("none", in: .root) } } == ENOENT)
    }

    @Test func foldersAndLinksAreMade() async throws {
        let folder = try await test.answer {
            try test.volume.makeFolder("f", in: .root, mode: 0o700, uid: 1, gid: 2)
        }
        #expect(folder.attributes.record.mode == 0o700)
        let link = try await test.answer {
            try test.volume.makeLink("l", in: folder.node, target: Array("../x".utf8), uid: 1, gid: 2)
        }
        #expect(try test.volume.readLink(link.node) == Array("../x".utf8))
        #expect(await errnoOf { _ = try test.volume.open(link.node, flags: O_RDONLY) } == ELOOP)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["f": .folder, "f/l": .link(target: Array("../x".utf8))])
    }

    @Test func aFolderIsReadInPieces() async throws {
        for number in 0..<10 { try test.remote.put("f/\(number)", "") }
        let folder = try await test.lookUp("f").node
        let handle = try await test.answer { try test.volume.openFolder(folder) }
        defer { test.volume.closeFolder(handle) }
        var names: [String] = []
        var cookie: Int64 = 0
        while let last = try test.volume.entries(of: folder, after: cookie, limit: 3).last {
            names += try test.volume.entries(of: folder, after: cookie, limit: 3).map(\.name.string)
            cookie = last.cookie
        }
        #expect(names.sorted() == (0..<10).map { "\($0)" })
    }

    @Test func renameAndUnlinkReachTheStore() async throws {
        try test.remote.put("a", "A")
        try test.remote.put("b", "B")
        try test.remote.mkdir("f")
        let folder = try await test.lookUp("f").node
        try await test.answer { try test.volume.rename("a", in: .root, to: "c", in: folder, noReplace: false) }
        try await test.answer { try test.volume.unlink("b", in: .root) }
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["f": .folder, "f/c": .document([0x41])])
        #expect(
            await errnoOf {
                try await test.answer { try test.volume.removeFolder("f", in: .root) }
            } == ENOTEMPTY)
    }
}
