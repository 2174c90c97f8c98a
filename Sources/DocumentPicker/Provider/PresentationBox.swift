import Synchronization

/// What becomes known of a presentation when it is prepared.
final class PresentationBox: Sendable {
    private let value = Mutex<DocumentPickerContext.Presentation?>(nil)

    var presentation: DocumentPickerContext.Presentation? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
