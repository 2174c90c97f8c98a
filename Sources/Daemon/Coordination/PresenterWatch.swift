import ControlAPI
import Coordination
import FileProvider
import Foundation
import ItemCatalog
import Synchronization

/// Tells presenters what has happened to their items, whoever did it: looks at these items whenever something happens in
/// the domain, and compares.
final class PresenterWatch: Sendable {
    /// An item, as its presenter last heard of it.
    private struct View: Equatable {
        var path: [Filename]?
        var size: Int64 = 0
        var modified = FileTime(nanoseconds: 0)
        var mode: UInt32 = 0
        var generation: Int64 = 0
        /// The other versions, by the row of the conflict.
        var copies: [Int64: [Filename]] = [:]
    }
    private struct Presented {
        var subject: ClaimSubject
        var view: View
        var tell: @Sendable (PresenterMessage) -> Void
    }
    private struct State {
        var presented: [PresenterID: Presented] = [:]
        var isLooking = false
    }
    private let state = Mutex(State())
    private let catalog: Catalog
    private let mountPoint: String
    /// What happens within this time is one message.
    private static let pause = Duration.milliseconds(50)

    init(catalog: Catalog, mountPoint: String) {
        self.catalog = catalog
        self.mountPoint = mountPoint
    }

    func add(_ id: PresenterID, _ subject: ClaimSubject, _ tell: @escaping @Sendable (PresenterMessage) -> Void) {
        let view = view(of: subject)
        state.withLock { $0.presented[id] = Presented(subject: subject, view: view, tell: tell) }
    }

    func remove(_ id: PresenterID) { state.withLock { $0.presented[id] = nil } }

    /// Something has happened. Never blocks; from any thread.
    func wake() {
        let begins = state.withLock { state in
            if state.presented.isEmpty || state.isLooking { return false }
            state.isLooking = true
            return true
        }
        guard begins else { return }
        Task { [weak self] in
            try? await Task.sleep(for: Self.pause)
            self?.look()
        }
    }

    private func look() {
        let presented = state.withLock { state in
            // What happens from now on is looked at once more.
            state.isLooking = false
            return state.presented
        }
        for (id, old) in presented {
            let view = view(of: old.subject)
            guard view != old.view else { continue }
            let isStill = state.withLock { state in
                guard state.presented[id]?.view == old.view else { return false }
                state.presented[id]?.view = view
                return true
            }
            if isStill { for message in messages(from: old.view, to: view) { old.tell(message) } }
        }
    }

    private func messages(from old: View, to new: View) -> [PresenterMessage] {
        guard let path = new.path else { return old.path == nil ? [] : [PresenterMessage(.deleted)] }
        var messages: [PresenterMessage] = []
        if old.path != path { messages.append(PresenterMessage(.moved, path: shown(path))) }
        if (old.size, old.modified, old.mode, old.generation) != (new.size, new.modified, new.mode, new.generation) {
            messages.append(PresenterMessage(.changed, path: shown(path)))
        }
        for (id, copy) in new.copies where old.copies[id] == nil {
            messages.append(PresenterMessage(.conflict, path: shown(copy)))
        }
        if old.copies.keys.contains(where: { new.copies[$0] == nil }) {
            messages.append(PresenterMessage(.resolved, path: shown(path)))
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
                // Of the copy, the original is the other version.
                let other = conflict.copy == id ? try reader.item(conflict.original)?.inode : conflict.copy
                view.copies[conflict.id] = try other.flatMap { try reader.path(of: $0) } ?? []
            }
            return view
        }) ?? View()
    }

    private func shown(_ names: [Filename]) -> String { ([mountPoint] + names.map(\.string)).joined(separator: "/") }
}
