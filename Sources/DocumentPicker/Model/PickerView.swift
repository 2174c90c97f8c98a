/// All that a document picker shows at a moment. It knows nothing of how.
public struct PickerView: Sendable, Codable, Equatable {
    /// What is to be looked at first.
    public enum Screen: String, Sendable, Codable {
        /// ``PickerView/menu``.
        case menu
        /// ``PickerView/page``.
        case page
        /// ``PickerView/progress``.
        case progress
        /// ``PickerView/error``, until ``PickerAction/dismiss``.
        case error
        /// ``PickerView/signIn``.
        case signIn
        /// It is over: a document was chosen.
        case finished
        /// It is over: the user closed it.
        case cancelled
    }

    /// A line of the menu.
    public struct MenuEntry: Sendable, Codable, Equatable {
        /// Names it in ``PickerAction/choose(_:)``.
        public var id: String
        /// As the user knows it.
        public var title: String
        /// A name of an icon theme, or a path.
        public var image: String?
        /// Where it is mounted, or why it cannot be chosen.
        public var detail: String?
        /// Whether it can be chosen.
        public var isSelectable: Bool
    }

    /// A transfer that is waited for.
    public struct Progress: Sendable, Codable, Equatable {
        /// What is done, to which document.
        public var title: String
        /// In bytes.
        public var done: Int64
        /// In bytes; 0: not known.
        public var total: Int64
        /// Whether ``PickerAction/cancelTransfer`` stops it. It goes on when the picker is closed.
        public var canCancel: Bool
    }

    /// A domain that asks for a password.
    public struct SignIn: Sendable, Codable, Equatable {
        /// The domain.
        public var domain: String
        /// Why it asks, in the store's words.
        public var reason: String?
    }

    /// See ``Screen``.
    public var screen: Screen
    /// What the program wants.
    public var mode: DocumentPickerMode
    /// What the program takes: identifiers of uniform types; empty: any document.
    public var types: [String]
    /// The provider's name, once one is chosen.
    public var title: String?
    /// The providers, and the program's own options, in the order to show.
    public var menu: [MenuEntry]
    /// What the provider shows.
    public var page: PickerPage?
    /// See ``Progress``.
    public var progress: Progress?
    /// In words.
    public var error: String?
    /// See ``SignIn``.
    public var signIn: SignIn?
    /// Whether ``PickerAction/providers`` leads to others.
    public var hasOthers: Bool
}
