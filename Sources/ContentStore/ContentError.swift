import Glibc

/// A failure with the local bytes of a document.
package struct ContentError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// No space on the disk of the state directory.
        case diskFull
        /// The file changed during the copy: try again later.
        case changed
        /// The file of bytes that were here is gone.
        case missing
        /// The state directory is gone.
        case vanished
        /// Any other failure of a system call, with its errno.
        case system(Int32)
    }
    package var code: Code
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// The present errno(3), for `what`.
    static func last(_ what: String) -> ContentError {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        return ContentError(
            code: isFull ? .diskFull : .system(number), message: "\(what): \(String(cString: strerror(number)))")
    }
}
