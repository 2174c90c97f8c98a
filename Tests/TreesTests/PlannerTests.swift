import FileProvider
import Testing
import Trees

@Suite struct PlannerTests {
    private func place(_ name: Filename) -> TreePlace { TreePlace(parent: .root, name: name) }

    private func row(
        _ id: Int64, identifier: String? = "X", kind: ItemKind = .document, base: Filename?, local: Filename?,
        remote: Filename? = nil, content: Int64 = 0, metadata: Int64 = 0
    ) -> ItemRecord {
        let version = ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1"))
        let isKnown = identifier != nil
        return ItemRecord(
            id: ItemID(rawValue: id), inode: local == nil ? nil : InodeID(rawValue: id + 100),
            identifier: identifier.map { ItemIdentifier("\($0)\(id)") }, kind: kind, base: base.map(place),
            baseVersion: isKnown ? version : nil, local: local.map(place), contentRevision: content,
            metadataRevision: metadata, remote: (remote ?? base).map(place),
            remoteVersion: isKnown ? version : nil,
            remoteFacts: RemoteFacts(size: 0, modified: FileTime(nanoseconds: 0), born: nil, mode: nil),
            readyAt: FileTime(nanoseconds: 0), failure: nil, sent: [], isPinned: false, isExcluded: false)
    }

    private func pending(
        _ item: ItemRecord, occupant: ItemRecord? = nil, children: PendingItem.RemoteChildren = .none
    ) -> PendingItem {
        PendingItem(
            item: item, parentIdentifier: .rootContainer, occupant: occupant, remoteChildren: children)
    }

    private func steps(_ items: PendingItem...) -> [Step] { Planner.plan(items).map(\.step) }

    @Test func oneItemOneStep() {
        #expect(steps(pending(row(1, identifier: nil, base: nil, local: "a", content: 1))) == [.create])
        #expect(steps(pending(row(1, identifier: nil, kind: .folder, base: nil, local: "a"))) == [.create])
        #expect(steps(pending(row(1, base: "a", local: "a", content: 2))) == [.uploadContents])
        #expect(steps(pending(row(1, base: "a", local: "a", metadata: 2))) == [.updateMetadata])
        // Contents bring the metadata along.
        #expect(steps(pending(row(1, base: "a", local: "a", content: 1, metadata: 2))) == [.uploadContents])
        #expect(steps(pending(row(1, base: "a", local: "b"))) == [.move(to: place("b"))])
        #expect(steps(pending(row(1, base: "a", local: "b", content: 1))) == [.move(to: place("b"))])
        #expect(steps(pending(row(1, base: "a", local: nil))) == [.delete])
        #expect(steps(pending(row(1, identifier: nil, base: nil, local: nil))) == [.forget])
        #expect(steps(pending(row(1, base: "a", local: "a"))) == [])
    }

    @Test func whatTheProviderForgotIsForgotten() {
        var item = row(1, base: "a", local: nil)
        item.remote = nil
        #expect(steps(pending(item)) == [.forget])
    }

    @Test func aFolderIsDeletedAfterWhatIsInIt() {
        let folder = row(1, kind: .folder, base: "f", local: nil)
        #expect(steps(pending(folder, children: .leaving)) == [])
        #expect(steps(pending(folder, children: .new)) == [.takeBackDeletion])
        #expect(steps(pending(folder, children: .none)) == [.delete])
    }

    @Test func aFoldersModeAndDateComeAfterWhatIsInIt() {
        let folder = row(9, kind: .folder, base: "f", local: "f", metadata: 2)
        var child = row(2, identifier: nil, base: nil, local: "a", content: 1)
        child.local = TreePlace(parent: folder.id, name: "a")
        var waiting = pending(folder)
        waiting.hasUnsentChildren = true
        #expect(steps(waiting, pending(child)) == [.create])
        #expect(steps(pending(folder)) == [.updateMetadata])
        // Nor does anything in it begin while they are under way.
        let planned = Planner.plan([pending(folder), pending(child)])
        #expect(planned.count == 2 && planned[1].waits(for: planned[0]))
        child.local = place("a")
        #expect(!Planner.plan([pending(child)])[0].waits(for: planned[0]))
    }

    @Test func aNameIsTakenWhenItIsFree() {
        let leaving = row(2, base: "a", local: nil)
        let creation = row(1, identifier: nil, base: nil, local: "a", content: 1)
        #expect(steps(pending(creation, occupant: leaving)) == [])
        #expect(steps(pending(creation, occupant: leaving), pending(leaving)) == [.delete])
        let moving = row(3, base: "b", local: "a")
        #expect(steps(pending(moving, occupant: leaving), pending(leaving)) == [.delete])
        #expect(steps(pending(moving)) == [.move(to: place("a"))])
        // One that stays must be met: the provider says so, and both are kept.
        let staying = row(4, base: "a", local: "a")
        #expect(steps(pending(moving, occupant: staying)) == [.move(to: place("a"))])
        // One that was never shown here does not wait for anything.
        var hidden = row(5, base: nil, local: nil)
        hidden.remote = place("a")
        #expect(steps(pending(creation, occupant: hidden)) == [.create])
    }

    @Test func aChainBeginsAtItsEnd() {
        let last = row(3, base: "c", local: "d")
        let middle = row(2, base: "b", local: "c")
        let first = row(1, base: "a", local: "b")
        let plan = Planner.plan([
            pending(first, occupant: middle), pending(middle, occupant: last), pending(last),
        ])
        #expect(plan.map(\.pending.item.id.rawValue) == [3])
        #expect(plan.map(\.step) == [.move(to: place("d"))])
    }

    /// Items that wait for one another's names: when nothing else is left to do, one goes out of the way.
    @Test func oneOfACircleStepsAside() {
        let now = FileTime(nanoseconds: 10)
        let (a, b, c) = (
            row(1, base: "a", local: "b"), row(2, base: "b", local: "c"), row(3, base: "c", local: "a")
        )
        let circle = [pending(a, occupant: b), pending(b, occupant: c), pending(c, occupant: a)]
        #expect(Planner.plan(circle).isEmpty)
        let aside = Planner.breakDeadlock(among: circle, at: now)
        #expect(aside?.step == .moveAside)
        #expect(aside.map { [1, 2, 3].contains($0.pending.item.id.rawValue) } == true)
        // One that is not in the circle but waits for it is not the one that goes.
        let waiting = pending(row(4, base: "z", local: "a"), occupant: a)
        #expect(Planner.breakDeadlock(among: [waiting] + circle, at: now)?.pending.item.id != ItemID(rawValue: 4))
        // Nor one that may not be sent yet.
        var unready = b
        unready.readyAt = FileTime(nanoseconds: 20)
        #expect(Planner.breakDeadlock(among: [pending(a, occupant: unready)], at: now) == nil)
        // Nor one that only waits for its name here, whoever else wants that.
        var contested = pending(row(5, identifier: nil, base: nil, local: "a"), occupant: row(6, base: nil, local: nil))
        contested.placeMayBeTaken = true
        #expect(Planner.plan([contested]).isEmpty)
        #expect(Planner.breakDeadlock(among: [contested], at: now) == nil)
    }
}
