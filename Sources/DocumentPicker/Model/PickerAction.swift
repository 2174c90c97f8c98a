/// What the user does in a document picker.
///
/// In JSON an object: `do` says what, `id`, `text` or `index` with what; `{"do": "choose", "id": "…"}`.
public enum PickerAction: Sendable, Equatable {
    /// An entry of the menu or of a page: a document is chosen, a folder or a provider opened.
    case choose(String)
    /// The folder above.
    case up
    /// A folder of ``PickerPage/location``, by its number.
    case location(Int)
    /// Only what has this in its name.
    case search(String)
    /// A new folder in this one.
    case makeFolder(String)
    /// The document goes here, under this name; nil: under the one that the page shows.
    case putHere(String?)
    /// The menu of providers.
    case providers
    /// The transfer that is waited for is given up.
    case cancelTransfer
    /// An error was read.
    case dismiss
    /// A password, for the domain that asks for one.
    case signIn(String)
    /// The picker is closed. Transfers go on.
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
