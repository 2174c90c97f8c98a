import Testing
import Trees

@testable import Volume

/// What the kernel references: most of it by number only.
@Suite struct NodeTableTests {
    private let table = NodeTable()
    private func inode(_ number: Int64) -> InodeID { InodeID(rawValue: number) }

    @Test func whatWasOnlyLookedAtHasNoNode() {
        let seen = table.reference(inode(7), generation: 1)
        #expect(seen.node == nil && seen.replaced == nil)
        #expect(table.made(seen.id) == nil)
        #expect(table.id(of: inode(7)) == seen.id && table.inode(of: seen.id) == inode(7))
        // Once there is need of it, it is the same for everybody.
        let node = table[seen.id]
        #expect(node != nil && node?.id == seen.id && node?.inode == inode(7))
        #expect(table[seen.id] === node && table.current(inode(7)) === node && table.made(seen.id) === node)
        #expect(table.reference(inode(7), generation: 1).node === node)
    }

    @Test(arguments: [false, true]) func theRoomOfWhatTheKernelForgetsComesBack(_ isMade: Bool) {
        let ids = (2..<50_002).map { table.reference(inode($0), generation: 1).id }
        if isMade { for id in ids { _ = table[id] } }
        #expect(table.capacity >= 50_000)
        for id in ids.dropFirst(10) { _ = table.forget(id, count: 1) }
        #expect(table.capacity < 10_000)
        #expect(ids.prefix(10).allSatisfy { table.inode(of: $0) != nil })
    }

    @Test(arguments: [false, true]) func itGoesWithTheLastReference(_ isMade: Bool) {
        let id = table.reference(inode(7), generation: 1).id
        _ = table.reference(inode(7), generation: 1)
        if isMade { _ = table[id] }
        #expect(table.forget(id, count: 1) == nil)
        #expect(table.id(of: inode(7)) == id)
        #expect(table.forget(id, count: 1) == nil)
        #expect(table.id(of: inode(7)) == nil && table[id] == nil && table.inode(of: id) == nil)
        // More than there were is no harm.
        #expect(table.forget(id, count: 5) == nil)
    }

    @Test(arguments: [false, true]) func theInodeGoesWithTheLastReferenceToWhatHasNoName(_ isMade: Bool) {
        #expect(table.orphan(inode(9)) == inode(9))
        let id = table.reference(inode(7), generation: 1).id
        if isMade { _ = table[id] }
        #expect(table.orphan(inode(7)) == nil)
        #expect(table.forget(id, count: 1) == inode(7))
    }

    @Test func anotherGenerationIsAnotherNode() throws {
        let old = table.reference(inode(7), generation: 1)
        let new = table.reference(inode(7), generation: 2)
        let replaced = try #require(new.replaced)
        #expect(replaced.id == old.id && new.id != old.id)
        #expect(table.id(of: inode(7)) == new.id)
        table.detach(replaced)
        #expect(table.id(of: inode(7)) == new.id)
        #expect(table[old.id] === replaced && table[new.id] !== replaced)
        // A third one while both are referenced; and then the first number is free again.
        let third = table.reference(inode(7), generation: 3)
        #expect(Set([old.id, new.id, third.id]).count == 3)
        #expect(third.replaced?.id == new.id)
        // Who looked before is late, and gets what is there now.
        let late = table.reference(inode(7), generation: 2)
        #expect(late.id == third.id && late.replaced == nil)
        #expect(table.forget(third.id, count: 1) == nil)
        for id in [old.id, new.id, third.id] { #expect(table.forget(id, count: 1) == nil) }
        #expect(table.reference(inode(7), generation: 3).id == old.id)
    }

    /// Numbers that do not fit are no smaller for it.
    @Test func aLargeGenerationHasANode() {
        let large = Int64(UInt32.max) + 1
        let first = table.reference(inode(7), generation: large)
        #expect(first.node != nil)
        #expect(table.reference(inode(7), generation: large).node === first.node)
        #expect(table.reference(inode(7), generation: large + 1).replaced === first.node)
    }

    @Test func whatIsOpenIsSo() throws {
        let id = table.reference(inode(7), generation: 1).id
        #expect(!table.isOpen(inode(7)))
        let node = try #require(table[id])
        table.opened(node)
        #expect(table.isOpen(inode(7)))
        #expect(table.orphan(inode(7)) == nil)
        #expect(table.forget(id, count: 1) == nil)
        #expect(table.closed(node) == inode(7))
    }
}
