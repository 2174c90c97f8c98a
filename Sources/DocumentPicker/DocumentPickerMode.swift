/// What a host program wants of a document that lives elsewhere.
///
/// Source: Apple, `UIDocumentPickerMode`.
public enum DocumentPickerMode: String, Sendable, Codable, Hashable, CaseIterable {
    /// A copy of its own, which goes when the program ends; the original stays.
    case `import`
    /// The document itself, edited in place.
    case open
    /// To give a document to a provider; the program gets no access to what becomes of it.
    case export
    /// To give a document to a provider for good, and to edit it there.
    case move

    /// Whether a document is chosen; else, where one goes.
    public var choosesDocument: Bool { self == .import || self == .open }
    /// Whether the program and the provider share the document afterwards, for which there must be a file provider.
    public var needsFileProvider: Bool { self == .open || self == .move }
}

/// Why something was refused in a document picker.
public struct DocumentPickerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What happened, to which document, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }
    /// See ``message``.
    public init(_ message: String) { self.message = message }
}
