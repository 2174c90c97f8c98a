/// Identifies a presenter.
package struct PresenterID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A program that shows an item, and wants to be asked before others use it.
package struct Presenter: Sendable {
    package let id: PresenterID
    /// The presenter is not asked about claims of its own purpose.
    package let purpose: String
    package let subject: ClaimSubject
    /// Sends a question or news to the presenter; must not wait.
    package let send: @Sendable (PresenterQuestion) -> Void

    package init(
        id: PresenterID, purpose: String, subject: ClaimSubject, send: @escaping @Sendable (PresenterQuestion) -> Void
    ) {
        self.id = id
        self.purpose = purpose
        self.subject = subject
        self.send = send
    }
}

/// A question to a presenter before another program uses its item.
package struct PresenterQuestion: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Relinquish the item to a reader.
        case relinquishToReader
        case relinquishToWriter
        /// Save unsaved changes.
        case saveChanges
        /// The item is about to be deleted.
        case accommodateDeletion
        /// The reader or writer is done; needs no answer.
        case reacquire
    }
    package var kind: Kind
    /// Identifies the question in the answer.
    package var number: Int
}
