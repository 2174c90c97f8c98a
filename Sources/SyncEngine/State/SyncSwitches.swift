import ItemCatalog
import Synchronization

/// What the user has switched off: sending and fetching, or all of the domain.
package final class SyncSwitches: Sendable {
    package let pause: PauseSwitch
    private let masked = Atomic(false)

    init(_ catalog: Catalog) { pause = PauseSwitch(catalog) }

    /// The user has signed out: no document is found, opened, downloaded or sent.
    package var isMasked: Bool {
        get { masked.load(ordering: .relaxed) }
        set { masked.store(newValue, ordering: .relaxed) }
    }
}
