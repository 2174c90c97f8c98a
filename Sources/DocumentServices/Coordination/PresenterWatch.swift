import ControlAPI
import Coordination
import FileProvider
import Foundation
import ItemCatalog
import SyncEngine
import Synchronization
import Trees

/// Tells presenters about changes of their items by any program or the store: after every event in the domain, compares
/// each presented item with its last known state.
final class PresenterWatch: Sendable {
    /// An item as its presenter last saw it.
    private struct View: Equatable {
        var path: [Filename]?
        var size: Int64 = 0
        var modified = FileTime(nanoseconds: 0)
        var mode: UInt32 = 0
        var generation: Int64 = 0
        /// The other versions, by the conflict's row.
        var copies: [Int64: [Filename]] = [:]
    }
    private struct Presented {
        var purpose: String
        var subject: ClaimSubject
        var view: View
        var send: @Sendable (PresenterMessage) -> Void
    }
    private struct Writing {
        var claim: Claim
        /// The items that the claim writes, as they were when it was granted.
        var items: [Written]
    }
    private struct Written {
        var intent: ClaimIntent
        var view: View
        var above: Set<ClaimSubject>
    }
    private struct State {
        var presented: [PresenterID: Presented] = [:]
        var isComparisonPlanned = false
        /// Claims that write.
        var writing: [ClaimID: Writing] = [:]
    }
    private let state = Mutex(State())
    /// The number of claims and presenters; without any, events are ignored.
    private let interest = Atomic<Int>(0)
    private let activity = Callback<Void>()
    private let catalog: Catalog
    private let mountPoint: String
    /// Events within this time give one message.
    private static let pause = Duration.milliseconds(50)

    init(catalog: Catalog, mountPoint: String) {
        self.catalog = catalog
        self.mountPoint = mountPoint
    }

    /// The number of claims or presenters has changed.
    func count(_ change: Int) { interest.add(change, ordering: .relaxed) }

    /// The callback for possible changes of items, called after a short delay. Set once.
    func onActivity(_ body: @escaping @Sendable () -> Void) { activity.set(body) }

    func add(
        _ id: PresenterID, _ purpose: String, _ subject: ClaimSubject,
        _ send: @escaping @Sendable (PresenterMessage) -> Void
    ) {
        let view = view(of: subject)
        state.withLock { $0.presented[id] = Presented(purpose: purpose, subject: subject, view: view, send: send) }
    }

    // MARK: Writing under a claim

    /// Presenters with the claim's purpose hear nothing about its changes until ``resume(_:)``.
    func suppress(_ id: ClaimID, _ claim: Claim) {
        let items = claim.intents.filter(\.isWriting).map { intent in
            Written(
                intent: intent, view: view(of: (try? catalog.read(intent.present)) ?? intent.subject),
                above: ClaimTarget(locating: intent, in: catalog).above
            )
        }
        if items.isEmpty { return }
        state.withLock { $0.writing[id] = Writing(claim: claim, items: items) }
    }

    /// The claim has ended. Tells the presenters of a folder which items in it have changed.
    func resume(_ id: ClaimID) {
        guard let writing = state.withLock({ $0.writing[id] }) else { return }
        let all = state.withLock { $0.presented }
        for (presenter, presented) in all where isOf(writing.claim, presented) {
            let view = view(of: presented.subject)
            state.withLock { $0.presented[presenter]?.view = view }
        }
        for item in writing.items {
            guard let message = message(item) else { continue }
            let above = item.above.union(ClaimTarget(locating: item.intent, in: catalog).above)
            for (presenter, presented) in all
            where presented.purpose != writing.claim.purpose && presenter != writing.claim.presenter
                && above.contains(presented.subject)
            { presented.send(message) }
        }
        _ = state.withLock { $0.writing.removeValue(forKey: id) }
    }

    private func message(_ item: Written) -> PresenterMessage? {
        let now = view(of: (try? catalog.read(item.intent.present)) ?? item.intent.subject)
        if now == item.view { return nil }
        if let path = now.path { return message(.subitemChanged, at: path) }
        return item.view.path.map { message(.subitemDeleted, at: $0) }
    }

    private func isOf(_ claim: Claim, _ presented: Presented) -> Bool {
        guard claim.purpose == presented.purpose else { return false }
        let shown = ClaimTarget(locating: ClaimIntent(presented.subject, .reading(savesFirst: false)), in: catalog)
        return claim.intents.contains { $0.isWriting && ClaimTarget(locating: $0, in: catalog).covers(shown) }
    }

    // MARK: Comparing

    func remove(_ id: PresenterID) { state.withLock { $0.presented[id] = nil } }

    /// Something has happened. Never blocks; callable from any thread.
    func wake() {
        guard interest.load(ordering: .relaxed) > 0 else { return }
        let begins = state.withLock { state in
            if state.isComparisonPlanned { return false }
            state.isComparisonPlanned = true
            return true
        }
        guard begins else { return }
        Task { [weak self] in
            try? await Task.sleep(for: Self.pause)
            self?.compareAll()
        }
    }

    private func compareAll() {
        let (presented, writing) = state.withLock { state in
            // An event from now on causes another comparison.
            state.isComparisonPlanned = false
            return (state.presented, state.writing)
        }
        activity()
        for (id, old) in presented where !writing.values.contains(where: { isOf($0.claim, old) }) {
            let view = view(of: old.subject)
            guard view != old.view else { continue }
            let isStill = state.withLock { state in
                guard state.presented[id]?.view == old.view else { return false }
                state.presented[id]?.view = view
                return true
            }
            if isStill { for message in messages(from: old.view, to: view) { old.send(message) } }
        }
    }

    private func messages(from old: View, to new: View) -> [PresenterMessage] {
        guard let path = new.path else { return old.path == nil ? [] : [PresenterMessage(.deleted)] }
        var messages: [PresenterMessage] = []
        if old.path != path { messages.append(message(.moved, at: path)) }
        if (old.size, old.modified, old.mode, old.generation) != (new.size, new.modified, new.mode, new.generation) {
            messages.append(message(.changed, at: path))
        }
        for (id, copy) in new.copies where old.copies[id] == nil {
            messages.append(message(.conflict, at: copy))
        }
        if old.copies.keys.contains(where: { new.copies[$0] == nil }) {
            messages.append(message(.resolved, at: path))
        }
        return messages
    }

    private func view(of subject: ClaimSubject) -> View {
        (try? catalog.read { reader in
            guard let id = try subject.inode(reader) else { return View() }
            let inode = try reader.inode(id)
            var view = View(
                path: try reader.path(of: id), size: inode.size, modified: inode.modified, mode: inode.mode,
                generation: inode.generation)
            for conflict in try reader.conflicts(of: id) {
                // For the copy, the other version is the original.
                let other = conflict.copy == id ? try reader.item(conflict.original)?.inode : conflict.copy
                view.copies[conflict.id] = try other.flatMap { try reader.path(of: $0) } ?? []
            }
            return view
        }) ?? View()
    }

    private func message(_ kind: PresenterMessage.Kind, at names: [Filename]) -> PresenterMessage {
        PresenterMessage(
            kind, path: ([mountPoint] + names.map(\.string)).joined(separator: "/"), place: PathBytes(joining: names))
    }
}
