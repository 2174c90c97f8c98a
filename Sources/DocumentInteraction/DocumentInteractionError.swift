/// Why nothing was shown, opened, printed or registered.
public struct DocumentInteractionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For programs.
    public enum Code: String, Sendable {
        /// Nothing is there, or it cannot be looked at.
        case noSuchDocument
        /// No program is registered for the document's type, or there is no preview of such a document, or it cannot be
        /// printed.
        case nothingToShow
        /// The contents could not be brought.
        case download
        /// The program could not be started.
        case notStarted
        /// A program that does a part of this is not installed.
        case missingProgram
        /// The document is larger, or took longer, than this is done for.
        case tooMuch
        /// A manifest is not as it has to be.
        case badManifest
        /// Anything else.
        case failed
    }

    /// What kind of reason it is.
    public let code: Code
    /// For people: what happened, to which file, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
