import ArgumentParser
import Foundation
import Glibc

/// Standard output for what comes line by line for as long as somebody reads it.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Written when it returns, also into a pipe. When nobody reads any more (`| head`) the command ends as it would
    /// by SIGPIPE, which the network library keeps from us.
    static func write(_ text: String) throws(ExitCode) {
        var rest = ArraySlice(text.utf8)
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 {
                let code = errno
                signal(SIGPIPE, SIG_DFL)
                if code == EPIPE { raise(SIGPIPE) }
                throw fail("cannot write: \(String(cString: strerror(code)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}
