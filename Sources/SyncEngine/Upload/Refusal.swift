package import FileProvider
package import Trees

/// A change that the store refuses and will refuse again until a person acts.
package enum Refusal: String, Sendable, CaseIterable {
    case permissionDenied, invalidName, unsupported, readOnly, notAuthenticated, insufficientQuota

    /// The failure codes of refused changes.
    static let codes = allCases.map(\.rawValue)

    /// Nil: the failure may pass by itself, and the change is only tried again.
    package init?(_ code: FileProviderError.Code) { self.init(rawValue: code.description) }

    package init?(_ failure: ItemFailure?) {
        guard let failure else { return nil }
        self.init(rawValue: failure.code)
    }

    /// For people: what makes the store accept the change. Giving up the change, or saving it elsewhere, is always
    /// possible.
    package var remedy: String {
        switch self {
        case .permissionDenied: "ask for permission at the store, then run hydrant retry"
        case .invalidName: "give it another name"
        case .unsupported: "the store cannot hold this item"
        case .readOnly: "the store takes no changes; when it takes changes again, run hydrant retry"
        case .notAuthenticated: "sign in again, then run hydrant retry"
        case .insufficientQuota: "make room in the store, then run hydrant retry"
        }
    }
}
