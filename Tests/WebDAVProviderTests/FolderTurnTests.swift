import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Many documents go into a folder under one lock of the folder (Apache).
@Suite("WebDAV: folder turns", .timeLimit(.minutes(10)))
struct FolderTurnTests {
    private static func create(
        _ name: String, _ provider: WebDAVProvider, size: Int = 1_000
    ) async throws -> Item {
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: Filename(name), kind: .document,
            contentModificationDate: FileTime(seconds: 0))
        return try await provider.createItem(template, contents: BytesSource(Array(repeating: 7, count: size)))
    }

    private static func makeFolder(_ name: String, _ provider: WebDAVProvider) async throws -> Item {
        let template = ItemTemplate(
            parentIdentifier: .rootContainer, filename: Filename(name), kind: .folder,
            contentModificationDate: FileTime(seconds: 0))
        return try await provider.createItem(template, contents: nil)
    }

    private static func names(_ provider: WebDAVProvider) async throws -> Set<String> {
        Set(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.map(\.filename.string))
    }

    @Test func manyTakeOneRequestEachAndSomeListings() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            _ = try await Self.create("first", provider)
            // (A line is written when the answer has been sent.)
            var before = server.requests
            repeat {
                before = server.requests
                try await Task.sleep(for: .milliseconds(300))
            } while before["PUT"] != 1 || server.requests != before
            let start = ContinuousClock.now
            var items: [Item] = []
            try await withThrowingTaskGroup(of: Item.self) { group in
                for index in 0..<100 {
                    group.addTask { try await Self.create("document-\(index)", provider, size: 1_000 + index) }
                }
                // What a listing says of a document is what the server says of it alone.
                for try await item in group {
                    let place = try #require(try await provider.place(of: item.identifier))
                    #expect(item.size == 1_000 + Int64(place.name.string.dropFirst(9))!)
                    items.append(item)
                }
            }
            #expect(items.count == 100)
            try waitUntil(5, "the server has noted all") {
                server.requests["PUT", default: 0] - before["PUT", default: 0] >= 100
            }
            let after = server.requests
            func count(_ method: String) -> Int { after[method, default: 0] - before[method, default: 0] }
            #expect(count("PUT") == 100 && count("PROPFIND") <= 25, "\(after)")
            // A turn ends after three seconds.
            let turns = Int(start.duration(to: .now) / .seconds(3))
            #expect(count("LOCK") <= 4 + turns && count("LOCK") >= 1, "\(after)")
            let listed = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            #expect(listed.count == 101)
            for item in items { #expect(listed.first { $0.identifier == item.identifier }?.version == item.version) }
            await provider.invalidate()
        }
    }

    /// Where the folder has many other documents, its listing would take longer than the questions: each is asked for.
    @Test func aLongFolderIsNotListedForAFew() async throws {
        try await withServer(.apache) { server in
            for index in 0..<2_000 {
                let path = "\(server.root)/old-\(index)"
                #expect(FileManager.default.createFile(atPath: path, contents: nil))
            }
            let provider = try server.provider()
            try await withThrowingTaskGroup { group in
                for index in 0..<20 { group.addTask { _ = try await Self.create("new-\(index)", provider) } }
                try await group.waitForAll()
            }
            #expect(!provider.client.sights.haveShared)
            await provider.invalidate()
        }
    }

    /// What else happens in the folder meanwhile: it is locked by ourselves.
    @Test func everythingElseGoesOnInTheFolder() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            var old: [Item] = []
            for index in 0..<12 { old.append(try await Self.create("old-\(index)", provider)) }
            try await withThrowingTaskGroup { [old] group in
                for index in 0..<60 { group.addTask { _ = try await Self.create("new-\(index)", provider) } }
                for index in 0..<4 {
                    group.addTask { _ = try await Self.create("large-\(index)", provider, size: 300_000) }
                    group.addTask { _ = try await Self.makeFolder("folder-\(index)", provider) }
                    group.addTask {
                        try await provider.deleteItem(old[index].identifier, baseVersion: old[index].version)
                    }
                    group.addTask {
                        let item = old[index + 4]
                        _ = try await provider.moveItem(
                            item.identifier, to: .rootContainer, as: Filename("moved-\(index)"),
                            baseVersion: item.version)
                    }
                    group.addTask {
                        let item = old[index + 8]
                        _ = try await provider.itemChanged(
                            item.identifier, contents: BytesSource([1, 2, 3]),
                            metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 0)),
                            baseVersion: item.version)
                    }
                }
                try await group.waitForAll()
            }
            var right = Set((0..<60).map { "new-\($0)" })
            for index in 0..<4 {
                right.formUnion(["large-\(index)", "folder-\(index)", "moved-\(index)", "old-\(index + 8)"])
            }
            #expect(try await Self.names(provider) == right)
            await provider.invalidate()
        }
    }

    @Test func othersHaveTheirTurn() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            let other = try server.provider()
            _ = try await Self.create("first", other)
            try await withThrowingTaskGroup { group in
                // For longer than a turn: the lock is held without a break if it is not given back.
                group.addTask {
                    let end = ContinuousClock.now + .seconds(6)
                    var index = 0
                    while .now < end {
                        _ = try await Self.create("mine-\(index)", provider)
                        index += 1
                    }
                }
                group.addTask {
                    for index in 0..<3 { _ = try await Self.create("theirs-\(index)", other) }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.names(other).isSuperset(of: ["theirs-0", "theirs-1", "theirs-2"]))
            await provider.invalidate()
            await other.invalidate()
        }
    }

    @Test func whoGoesLeavesNoLock() async throws {
        try await withServer(.apache) { server in
            for round in 0..<5 {
                let provider = try server.provider()
                _ = try await Self.create("document-\(round)", provider)
                await provider.invalidate()
            }
            // (A line is written when the answer has been sent.)
            // One for each, or more where the machine was so slow that a lock was given back meanwhile.
            try waitUntil(5, "the server has noted all") {
                let requests = server.requests
                return requests["LOCK", default: 0] >= 5 && requests["LOCK"] == requests["UNLOCK"]
            }
        }
    }

    @Test func oneNameIsMadeOnce() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for size in 1...8 {
                    group.addTask {
                        do {
                            _ = try await Self.create("name", provider, size: size)
                            return true
                        } catch let error as FileProviderError {
                            #expect(error.code == .filenameCollision, "\(error)")
                            return false
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(made == 1)
            await provider.invalidate()
        }
    }
}
