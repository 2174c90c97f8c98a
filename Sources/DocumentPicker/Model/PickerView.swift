/// Everything that a document picker shows at a moment, without its form.
public struct PickerView: Sendable, Codable, Equatable {
    /// The part of the view in front.
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
        /// The picker has ended: the user chose a document.
        case finished
        /// The picker has ended: the user closed it.
        case cancelled
    }

    /// A line of the menu.
    public struct MenuEntry: Sendable, Codable, Equatable {
        /// Identifies the entry in ``PickerAction/choose(_:)``.
        public var id: String
        /// The name to show.
        public var title: String
        /// A name of an icon theme, or a path.
        public var image: String?
        /// The mount point, or why the entry cannot be chosen.
        public var detail: String?
        /// Whether the entry can be chosen.
        public var isSelectable: Bool
    }

    /// A transfer that the picker waits for.
    public struct Progress: Sendable, Codable, Equatable {
        /// The kind of transfer, and the document.
        public var title: String
        /// In bytes.
        public var done: Int64
        /// In bytes; 0: unknown.
        public var total: Int64
        /// Whether ``PickerAction/cancelTransfer`` stops the transfer. Closing the picker does not.
        public var canCancel: Bool
    }

    /// A domain that asks for a password.
    public struct SignIn: Sendable, Codable, Equatable {
        /// The domain's name.
        public var domain: String
        /// The store's reason for asking.
        public var reason: String?
    }

    /// See ``Screen``.
    public var screen: Screen
    /// The mode that the program asks for.
    public var mode: DocumentPickerMode
    /// The uniform type identifiers that the program takes; empty: any document.
    public var types: [String]
    /// The provider's name, once one is chosen.
    public var title: String?
    /// The providers, and the program's own options, in the order to show.
    public var menu: [MenuEntry]
    /// The provider's page.
    public var page: PickerPage?
    /// See ``Progress``.
    public var progress: Progress?
    /// An error, for people.
    public var error: String?
    /// See ``SignIn``.
    public var signIn: SignIn?
    /// Whether there are other providers, for ``PickerAction/providers``.
    public var hasOthers: Bool
}
