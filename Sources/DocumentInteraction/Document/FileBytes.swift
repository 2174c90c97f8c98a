import ControlAPI
import Foundation

/// The beginning of a file.
enum FileBytes {
    /// Blocks.
    ///
    /// - Returns: at most `most` bytes, and whether these are all.
    static func read(_ path: String, most: Int) throws -> (bytes: [UInt8], isWhole: Bool) {
        let file = ByteText.withPath(path) { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        var (bytes, done) = ([UInt8](repeating: 0, count: most + 1), 0)
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + done, $0.count - done) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure(path) }
            if count == 0 { break }
            done += count
        }
        return (Array(bytes[..<min(done, most)]), done <= most)
    }

    static func failure(_ path: String) -> DocumentInteractionError {
        DocumentInteractionError(.failed, "\(ByteText.shown(path)): \(String(cString: strerror(errno)))")
    }
}
