/// What a program wants to do with a document of a provider.
///
/// Source: Apple, `UIDocumentPickerMode`.
public enum DocumentPickerMode: String, Sendable, Codable, Hashable, CaseIterable {
    /// Get a copy, which is removed when the program ends; the original stays.
    case `import`
    /// Edit the document in place.
    case open
    /// Copy a document to a provider; the program gets no access to the copy.
    case export
    /// Move a document to a provider, and edit it there.
    case move

    /// Whether the user chooses a document; otherwise he chooses a place for one.
    public var choosesDocument: Bool { self == .import || self == .open }
    /// Whether the program and the provider share the document afterwards, which needs a file provider.
    public var needsFileProvider: Bool { self == .open || self == .move }
}

/// An error of the document picker.
public struct DocumentPickerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The document, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }
    /// See ``message``.
    public init(_ message: String) { self.message = message }
}
