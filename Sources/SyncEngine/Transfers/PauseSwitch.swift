import FileProvider
import ItemCatalog
import Synchronization
import Trees

/// Whether the user has paused uploads, and downloads that nobody waits for. Kept in the catalog.
package final class PauseSwitch: Sendable {
    private static let note = "paused"
    private enum Position: UInt8, AtomicRepresentable { case unknown, off, on }
    private let position = Atomic(Position.unknown)
    private let catalog: Catalog

    init(_ catalog: Catalog) {
        self.catalog = catalog
        _ = isOn
    }

    /// On while the catalog cannot be read: nothing is sent that a user may have paused.
    package var isOn: Bool {
        let known = position.load(ordering: .relaxed)
        if known != .unknown { return known == .on }
        let found: Position
        do { found = try catalog.read { try $0.note(Self.note) } == "1" ? .on : .off } catch { return true }
        // (A value set meanwhile is newer.)
        return position.compareExchange(expected: .unknown, desired: found, ordering: .relaxed).original == .unknown
            ? found == .on : position.load(ordering: .relaxed) == .on
    }

    /// Durable on return.
    func set(_ isOn: Bool, in catalog: Catalog) throws(CatalogError) {
        try catalog.write { try $0.takeNote(Self.note, isOn ? "1" : "0") }
        position.store(isOn ? .on : .off, ordering: .relaxed)
    }
}
