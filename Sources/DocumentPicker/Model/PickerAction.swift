/// An action of the user in a document picker.
///
/// In JSON an object: `do` names the action, and `id`, `text` or `index` is its argument;
/// `{"do": "choose", "id": "…"}`.
public enum PickerAction: Sendable, Equatable {
    /// Choose a document, or open a folder or a provider: an entry of the menu or of the page.
    case choose(String)
    /// Go to the folder above.
    case up
    /// Go to a folder of ``PickerPage/location``, by its index.
    case location(Int)
    /// Show only entries whose names contain the text.
    case search(String)
    /// Make a new folder in this one.
    case makeFolder(String)
    /// Put the document here, under this name; nil: under the name that the page shows.
    case putHere(String?)
    /// Show the menu of providers.
    case providers
    /// Cancel the transfer that the picker waits for.
    case cancelTransfer
    /// Close the error.
    case dismiss
    /// Sign in to the domain that asks for a password.
    case signIn(String)
    /// Close the picker. Transfers go on.
    case cancel
}

extension PickerAction: Codable {
    private enum CodingKeys: String, CodingKey { case action = "do", id, text, index }
    private enum Kind: String, Codable {
        case choose, up, location, search, makeFolder, putHere, providers, cancelTransfer, dismiss, signIn, cancel
    }

    /// See ``PickerAction``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text() throws -> String { try container.decode(String.self, forKey: .text) }
        switch try container.decode(Kind.self, forKey: .action) {
        case .choose: self = .choose(try container.decode(String.self, forKey: .id))
        case .up: self = .up
        case .location: self = .location(try container.decode(Int.self, forKey: .index))
        case .search: self = .search(try text())
        case .makeFolder: self = .makeFolder(try text())
        case .putHere: self = .putHere(try container.decodeIfPresent(String.self, forKey: .text))
        case .providers: self = .providers
        case .cancelTransfer: self = .cancelTransfer
        case .dismiss: self = .dismiss
        case .signIn: self = .signIn(try text())
        case .cancel: self = .cancel
        }
    }

    /// See ``PickerAction``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func put(_ kind: Kind, text: String? = nil) throws {
            try container.encode(kind, forKey: .action)
            try container.encodeIfPresent(text, forKey: .text)
        }
        switch self {
        case .choose(let id):
            try put(.choose)
            try container.encode(id, forKey: .id)
        case .up: try put(.up)
        case .location(let index):
            try put(.location)
            try container.encode(index, forKey: .index)
        case .search(let text): try put(.search, text: text)
        case .makeFolder(let name): try put(.makeFolder, text: name)
        case .putHere(let name): try put(.putHere, text: name)
        case .providers: try put(.providers)
        case .cancelTransfer: try put(.cancelTransfer)
        case .dismiss: try put(.dismiss)
        case .signIn(let password): try put(.signIn, text: password)
        case .cancel: try put(.cancel)
        }
    }
}
