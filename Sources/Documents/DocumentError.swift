import ControlAPI
import FileCoordination
import Foundation
import Surroundings

/// An error of a document.
public struct DocumentError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Known: String {
            case notOpen, alreadyOpen, noContents, badContents, exists, missing, unreadable, unwritable, tooLarge,
                noConflict, refused
        }
        private let known: Known
        private init(_ known: Known) { self.known = known }
        /// The code's name.
        public var description: String { known.rawValue }

        /// The document must be open for this.
        public static let notOpen = Code(.notOpen)
        /// The document is open already.
        public static let alreadyOpen = Code(.alreadyOpen)
        /// The class does not override the methods for contents.
        public static let noContents = Code(.noContents)
        /// No file or folder can hold these contents, or the class cannot load them.
        public static let badContents = Code(.badContents)
        /// The name is taken.
        public static let exists = Code(.exists)
        /// The file does not exist, or no longer.
        public static let missing = Code(.missing)
        /// The file cannot be read, or not be downloaded.
        public static let unreadable = Code(.unreadable)
        /// The file cannot be written.
        public static let unwritable = Code(.unwritable)
        /// The file is larger than ``Document/mostBytes``.
        public static let tooLarge = Code(.tooLarge)
        /// There is no such other version.
        public static let noConflict = Code(.noConflict)
        /// The domain's daemon refuses, or does not answer.
        public static let refused = Code(.refused)
    }

    /// The kind of error.
    public let code: Code
    /// The file, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes text safe for a terminal or a log.
    static func shown(_ text: String) -> String { ShownText.line(ByteText.shown(text)) }

    static func shown(_ url: URL) -> String { shown(FilePath.text(url)) }

    /// An error of a system call on a file, by `errno`.
    static func system(_ code: Code, _ path: String, _ number: Int32 = errno, _ advice: String = "") -> DocumentError {
        let code: Code = number == ENOENT ? .missing : number == EEXIST ? .exists : code
        return DocumentError(code, "\(shown(path)): \(String(cString: strerror(number)))\(advice)")
    }
}

extension CoordinationError {
    var asDocumentError: DocumentError {
        switch code {
        case .noSuchItem: DocumentError(.missing, message)
        case .download: DocumentError(.unreadable, message)
        default: DocumentError(.refused, message)
        }
    }
}
