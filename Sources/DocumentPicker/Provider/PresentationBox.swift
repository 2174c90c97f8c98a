import Synchronization

/// Holds the properties of a presentation, which are known when it is prepared.
final class PresentationBox: Sendable {
    private let value = Mutex<DocumentPickerContext.Presentation?>(nil)

    var presentation: DocumentPickerContext.Presentation? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
