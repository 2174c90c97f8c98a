import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import Testing
import Trees

@testable import SyncEngine

/// A store that says of every name that something else has it.
@Suite(.timeLimit(.minutes(10))) struct RepeatedConflictTests {
    @Test("copies of conflicted copies have a limit, which is reported; a rename starts again")
    func limit() async throws {
        let test = try TestEngine()
        let other = try test.remote.put("other", "theirs")
        try await test.engine.enumerate(.root)
        test.plan.inject(
            .error(FileProviderError(.filenameCollision, "A test wanted it so.", item: other)), into: .createItem,
            times: 10_000)
        test.engine.start()
        let inode = try test.save("mine", "mine")
        test.engine.changed()
        #expect(
            try await eventually { try test.catalog.read { try $0.item(of: inode)?.failure?.code } == "invalidName" })
        let name = try test.names().first { $0.hasPrefix("mine") } ?? ""
        #expect(name.components(separatedBy: "(conflicted copy").count - 1 == RepeatedConflicts.most, "\(name)")
        let message = try test.catalog.read { try $0.item(of: inode)?.failure?.message } ?? ""
        #expect(message.contains("3 conflicts in a row"), "\(message)")
        #expect(test.plan.attempts(of: .createItem) == RepeatedConflicts.most + 1)

        test.plan.clear()
        try test.rename(Filename(name), "renamed")
        #expect(try await test.engine.sync(timeout: 60).isEmpty)
        #expect(test.remote.read("renamed") == Array("mine".utf8))
    }

    @Test func takenByTheStoreIsTheEndOfIt() throws {
        let conflicts = RepeatedConflicts()
        let inode = InodeID(rawValue: 7)
        for number in 0..<RepeatedConflicts.most {
            try conflicts.check(inode, named: Filename("\(number)"), at: "")
            conflicts.add(inode, from: Filename("\(number)"), to: Filename("\(number + 1)"))
        }
        let last = Filename("\(RepeatedConflicts.most)")
        #expect(throws: FileProviderError.self) { try conflicts.check(inode, named: last, at: "") }
        try conflicts.check(inode, named: "another", at: "")
        conflicts.ended(inode)
        try conflicts.check(inode, named: last, at: "")
    }
}

/// What a provider lists and says cannot be shown.
@Suite(.timeLimit(.minutes(10))) struct LeftOutTests {
    private final class Store: ForwardingProvider {
        let base = InMemoryProvider()

        func enumerateItems(
            in folder: ItemIdentifier, startingAt page: Page?
        ) async throws(FileProviderError) -> ItemPage {
            var answer = try await base.enumerateItems(in: folder, startingAt: page)
            answer.items.removeAll { $0.filename == "bad" }
            answer.leftOut = [LeftOutItem(filename: "bad", reason: "the server does not say its size")]
            return answer
        }
    }

    @Test("entries that the provider leaves out are named to the user") func summary() async throws {
        let (test, store) = (try TestEngine(), Store())
        try store.base.put("good", "good")
        let engine = SyncEngine(
            provider: store, catalog: test.catalog, store: test.store, times: SyncTimes(),
            defaults: test.engine.mount.defaults, logger: test.engine.mount.logger)
        try await engine.enumerate(.root)
        #expect(try test.names() == ["good"])
        #expect(
            engine.remote.refused.summary(of: .root)
                == "1 entry of the store cannot be shown: “bad” (the server does not say its size)")
    }
}
