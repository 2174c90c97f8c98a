import Glibc

/// What went wrong with the local bytes of a document.
package struct ContentError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// No room on the disk under the state directory.
        case diskFull
        /// The file changed while it was being copied: try again later.
        case changed
        /// Bytes that were here are not any more: somebody removed the file.
        case missing
        /// The state directory is not there any more.
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

    /// The failure that errno(3) tells of, of `what`.
    static func last(_ what: String) -> ContentError {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        return ContentError(
            code: isFull ? .diskFull : .system(number), message: "\(what): \(String(cString: strerror(number)))")
    }
}
