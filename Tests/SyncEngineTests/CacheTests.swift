import ContentStore
import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees

@testable import SyncEngine

@Suite("The cache limit", .timeLimit(.minutes(10))) struct CacheTests {
    private static let letters = "abcdefghijkl".map(String.init)

    /// Twelve documents of 100 bytes, named a to l; nothing is here.
    private func prepared(most: Int64? = 1_000, minimumFree: CacheLimits.MinimumFree = .bytes(0)) async throws
        -> TestEngine
    {
        let test = try TestEngine(stopProviding: 60, cache: CacheLimits(most: most, minimumFree: minimumFree))
        for name in Self.letters { try test.remote.put(name, [UInt8](repeating: 7, count: 100)) }
        try await test.engine.enumerate(.root)
        test.remote.disposition = .evict
        return test
    }

    private func download(_ paths: [String], _ test: TestEngine) async throws {
        for path in paths {
            _ = try await test.engine.download(try test.inode(path).id)
            try #require(try await eventually { try test.inode(path).extents == nil })
        }
    }

    private func here(_ test: TestEngine) throws -> [String] {
        try test.names().filter { try test.inode($0).bytesPresent > 0 }
    }

    private func lettersWithout(_ gone: String, upTo last: String = "l") -> [String] {
        Self.letters.filter { !gone.contains($0) && $0 <= last }
    }

    @Test("at the limit nothing is evicted; above it, the least recently used documents, until 5 % below")
    func leastRecentlyUsed() async throws {
        let test = try await prepared()
        try await download(lettersWithout("", upTo: "j"), test)
        #expect(await test.engine.cache.tidy() == 0)
        // Read again: it is not the oldest any more.
        test.engine.released(
            try test.inode("a").id, GenerationID(inode: try test.inode("a").id.rawValue, number: 1))
        try await download(["k"], test)
        #expect(try test.catalog.read { try $0.bytesHere() } == 1_100)
        #expect(await test.engine.cache.tidy() == 200)
        #expect(try here(test) == lettersWithout("bc", upTo: "k"))
        #expect(await test.engine.cache.tidy() == 0)
        // The bytes come again.
        try await download(["b"], test)
        #expect(try test.inode("b").bytesPresent == 100)
    }

    @Test("documents that are pinned (also by a folder), modified, never sent or open stay")
    func whatStays() async throws {
        let test = try await prepared(most: 0)
        try test.remote.put("folder/g/deep", "text")
        try await test.engine.enumerate(.root)
        try await test.engine.enumerate(try test.inode("folder").id)
        try await test.engine.enumerate(try test.inode("folder/g").id)
        try await download(["a", "b", "c", "folder/g/deep"], test)
        let (b, c) = (try test.inode("b").id, try test.inode("c").id)
        let (pinned, folder) = (try test.item("a").id, try test.item("folder").id)
        try test.catalog.write { writer in
            try writer.setPinned(pinned, true)
            try writer.setPinned(folder, true)
        }
        try test.write(b, "changed here")
        try test.save("mine", "never sent")
        test.volume.setOpen(c, true)
        let names = ["a", "b", "c", "mine"]
        #expect(await test.engine.cache.tidy() == 0)
        #expect(await test.engine.cache.tidy() == 0)
        #expect(try here(test).sorted() == names)
        #expect(try test.inode("folder/g/deep").bytesPresent == 4)
        // Nobody was asked about what cannot go anyway.
        #expect(test.remote.calls(of: .stopProvidingItem).isEmpty)
        // And each goes as soon as it may.
        test.volume.setOpen(c, false)
        #expect(await test.engine.cache.tidy() == 100)
        try test.catalog.write { writer in
            try writer.setPinned(pinned, false)
            try writer.setPinned(folder, false)
        }
        #expect(await test.engine.cache.tidy() == 104)
        #expect(try here(test).sorted() == ["b", "mine"])
    }

    @Test("a document larger than the limit causes no other eviction, while it is open and after")
    func largerThanTheLimit() async throws {
        let test = try await prepared()
        try test.remote.put("large", [UInt8](repeating: 1, count: 5_000))
        try await test.engine.enumerate(.root)
        try await download(["a", "b"], test)
        let large = try test.inode("large").id
        test.volume.setOpen(large, true)
        try await download(["large"], test)
        #expect(await test.engine.cache.tidy() == 0)
        #expect(try here(test) == ["a", "b", "large"])
        test.volume.setOpen(large, false)
        #expect(await test.engine.cache.tidy() == 5_000)
        #expect(try here(test) == ["a", "b"])
    }

    @Test("the holes of a local file take no space, and cause no eviction")
    func holes() async throws {
        let test = try await prepared(most: 1 << 20)
        try await download(["a", "b"], test)
        for (name, size) in [("big", 3 << 40), ("small", 600 << 20)] as [(Filename, Int64)] {
            let inode = try test.save(name, "x")
            let content = try test.store.open(
                GenerationID(inode: inode.rawValue, number: test.inode(name.string).generation), size: 1, baseSize: 0,
                present: nil)
            try content.truncate(to: size)
            _ = try test.catalog.write {
                try $0.recordWritten(inode, size: size, modified: .now, mark: nil, settle: 600)
            }
        }
        #expect(try test.catalog.read { try $0.bytesHere() } > 3 << 40)
        #expect(try test.engine.mount.cacheUse().bytes < 100_000)
        #expect(await test.engine.cache.tidy() == 0)
        #expect(try here(test) == ["a", "b", "big", "small"])
        // What is full counts as before: no more goes than has to.
        for number in 0..<5 {
            try test.remote.put("full\(number)", [UInt8](repeating: 7, count: 300_000))
            try await test.engine.enumerate(.root)
            try await download(["full\(number)"], test)
        }
        #expect(await test.engine.cache.tidy() == 600_200)
        #expect(try here(test) == ["big", "full2", "full3", "full4", "small"])
        #expect(await test.engine.cache.tidy() == 0)
    }

    @Test("documents that the provider wants to keep are evicted last; the provider is asked once for each use")
    func keptGoesLast() async throws {
        let test = try await prepared()
        test.remote.disposition = .keep
        try await download(lettersWithout("", upTo: "k"), test)
        #expect(await test.engine.cache.tidy() == 200)
        #expect(try here(test) == lettersWithout("ab", upTo: "k"))
        #expect(test.remote.calls(of: .stopProvidingItem).count == 11)
        test.remote.disposition = .evict
        test.remote.forgetCalls()
        try await download(["a", "l"], test)
        // Used last, but all others are to be kept.
        #expect(await test.engine.cache.tidy() == 200)
        #expect(try here(test) == lettersWithout("abl"))
        #expect(test.remote.calls(of: .stopProvidingItem).count == 2)
    }

    @Test("a provider that does not answer does not prevent eviction from a full disk")
    func silentProvider() async throws {
        let test = try await prepared()
        let gate = Gate()
        test.plan.inject(.hang(gate), into: .stopProvidingItem)
        try await download(lettersWithout("", upTo: "k"), test)
        #expect(await test.engine.cache.tidy() == 200)
        #expect(try here(test) == lettersWithout("ab", upTo: "k"))
        gate.open()
    }

    @Test("the order of use survives a restart")
    func restart() async throws {
        let test = try await prepared(most: nil)
        try await download(["a", "b", "c"], test)
        for name in ["b", "c", "a"] {
            let id = try test.inode(name).id
            test.engine.released(id, GenerationID(inode: id.rawValue, number: 1))
        }
        await test.engine.stop()
        let other = try Catalog(path: test.catalog.path, domain: "test:", owner: (0, 0))
        defer { other.close() }
        let order = try other.read { reader in
            try reader.evictionCandidates(after: nil, limit: 10).map { try reader.path(of: $0.inode)!.last!.string }
        }
        #expect(order == ["b", "c", "a"])
    }

    @Test("candidates for eviction come page by page, each once")
    func pages() async throws {
        let test = try await prepared(most: nil)
        try await download(Self.letters, test)
        try test.catalog.write { try $0.recordUse([try $0.resolve(["c"]).id: FileTime(nanoseconds: 5)]) }
        var found: [InodeID] = []
        var last: EvictionCandidate?
        while true {
            let page = try test.catalog.read { try $0.evictionCandidates(after: last, limit: 5) }
            guard let end = page.last else { break }
            found += page.map(\.inode)
            last = end
        }
        #expect(found.count == 12 && Set(found).count == 12)
        #expect(found.last == (try test.inode("c").id))
    }

    @Test("a download starts an eviction by itself")
    func byItself() async throws {
        let test = try await prepared()
        test.engine.start()
        try await download(lettersWithout("", upTo: "k"), test)
        #expect(try await eventually { try here(test) == lettersWithout("ab", upTo: "k") })
        await test.engine.stop()
    }

    @Test("with too little free space, all documents that may be evicted are evicted")
    func minimumFree() async throws {
        let test = try await prepared(most: nil, minimumFree: .bytes(1 << 60))
        try await download(["a", "b"], test)
        // Not all of them by this call: the download asked for room as well.
        _ = await test.engine.cache.tidy()
        #expect(try here(test).isEmpty)
    }

    @Test("the amount of disk space that must stay free")
    func minimumFreeBytes() {
        #expect(CacheLimits.MinimumFree.usual.bytes(of: 1 << 40) == 2 << 30)
        #expect(CacheLimits.MinimumFree.usual.bytes(of: 20 << 20) == 1 << 20)
        #expect(CacheLimits.MinimumFree.percent(10).bytes(of: 5_000) == 500)
        #expect(CacheLimits.MinimumFree.bytes(7).bytes(of: 5_000) == 7)
    }
}
