import FileProvider
import ItemCatalog
import Synchronization

/// Whether uploads, and downloads that nobody waits for, stand still until a user says otherwise. Kept in the catalog.
package final class PauseSwitch: Sendable {
    private static let note = "paused"
    private let paused: Atomic<Bool>

    init(_ catalog: Catalog) {
        let kept = (try? catalog.read { try $0.note(Self.note) }) ?? nil
        paused = Atomic(kept == "1")
    }

    package var isOn: Bool { paused.load(ordering: .relaxed) }

    /// Durable when it returns.
    func set(_ isOn: Bool, in catalog: Catalog) throws(CatalogError) {
        try catalog.write { try $0.takeNote(Self.note, isOn ? "1" : "0") }
        paused.store(isOn, ordering: .relaxed)
    }
}
