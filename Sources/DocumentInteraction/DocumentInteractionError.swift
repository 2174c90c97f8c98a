/// An error in showing, opening, printing or registering.
public struct DocumentInteractionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For programs.
    public enum Code: String, Sendable {
        /// The document does not exist, or cannot be accessed.
        case noSuchDocument
        /// No program is registered for the document's type, or the document has no preview, or cannot be printed.
        case nothingToShow
        /// The contents could not be downloaded.
        case download
        /// The program could not be started.
        case notStarted
        /// A program that is needed is not installed.
        case missingProgram
        /// The document exceeds a limit of size or time.
        case tooMuch
        /// A manifest has an error.
        case badManifest
        /// Anything else.
        case failed
    }

    /// The kind of error.
    public let code: Code
    /// For people: the file, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
