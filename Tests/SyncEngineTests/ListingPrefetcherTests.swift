import FileProvider
import FileProviderTesting
import Testing
import Trees

@testable import SyncEngine

/// Folders that are fetched before a program asks for them.
@Suite(.timeLimit(.minutes(10))) struct ListingPrefetcherTests {
    private let test: TestEngine

    init() throws {
        test = try TestEngine()
        for number in 10..<40 {
            try test.remote.put("parent/\(number)/document", "text")
            try test.remote.put("parent/\(number)/below/document", "text")
        }
    }

    private func list(_ path: String) async throws { try await test.engine.enumerate(try test.inode(path).id) }

    private func listed() throws -> Set<Int> {
        try Set((10..<40).filter { try test.inode("parent/\($0)").isEnumerated })
    }

    @Test("a program that visits one folder after another finds the next ones listed") func aWalk() async throws {
        try await list("")
        try await list("parent")
        try await list("parent/10")
        #expect(try listed() == [10])
        try await list("parent/11")
        // Goes on by itself for as long as the walk is fresh; and no deeper than the program goes.
        #expect(try await eventually { try listed().isSuperset(of: 10..<20) })
        #expect(try test.inode("parent/12/below").isEnumerated == false)
    }

    @Test("two folders of different parents do not start prefetching") func noWalk() async throws {
        try await list("")
        try await list("parent")
        try await list("parent/10")
        try await list("parent/10/below")
        try await Task.sleep(for: .milliseconds(300))
        #expect(try listed() == [10])
    }

    @Test("nothing is prefetched while the domain is paused; a failed prefetch is not reported") func quiet()
        async throws
    {
        try await list("")
        try await list("parent")
        try await test.engine.setPaused(true)
        try await list("parent/10")
        try await list("parent/11")
        try await Task.sleep(for: .milliseconds(300))
        #expect(try listed() == [10, 11])
        try await test.engine.setPaused(false)
        test.plan.fail(.enumerateItems, times: 100, with: .cannotSynchronize)
        await #expect(throws: (any Error).self) { try await list("parent/12") }
        try await Task.sleep(for: .milliseconds(300))
        #expect(try listed() == [10, 11])
    }
}
