/// Names one presenter.
package struct PresenterID: Hashable, Sendable {
    package let rawValue: String
    package init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A program that shows an item, and wants to be asked before others use it.
package struct Presenter: Sendable {
    package let id: PresenterID
    /// Is not asked about claims of its own purpose.
    package let purpose: String
    package let subject: ClaimSubject
    /// Hands it a question, or tells it something; must not wait.
    package let tell: @Sendable (PresenterQuestion) -> Void

    package init(
        id: PresenterID, purpose: String, subject: ClaimSubject, tell: @escaping @Sendable (PresenterQuestion) -> Void
    ) {
        self.id = id
        self.purpose = purpose
        self.subject = subject
        self.tell = tell
    }
}

/// What a presenter is asked before somebody uses its item.
package struct PresenterQuestion: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Let go of it, so that somebody can read.
        case relinquishToReader
        case relinquishToWriter
        /// Save what is not saved yet.
        case saveChanges
        /// It is about to be deleted.
        case accommodateDeletion
        /// The reader, or writer, is done. No answer is waited for.
        case reacquire
    }
    package var kind: Kind
    /// To be given back with the answer.
    package var number: Int
}
