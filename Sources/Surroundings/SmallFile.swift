package import Foundation

/// Small files of Hydrant's own, which are replaced as a whole.
package enum SmallFile {
    package struct Failure: Error, CustomStringConvertible {
        package let path: String
        package let number: Int32
        /// For people.
        package var reason: String { String(cString: strerror(number)) }
        package var description: String { "\(path): cannot be written: \(reason)" }
    }

    /// Writes a file beside `path`, mode 0600, and renames it over `path`: readers get the old or the new contents,
    /// complete. After an error the old file is there, and no draft.
    ///
    /// - Parameters:
    ///   - draft: the temporary name; nil: a name of its own.
    ///   - isDurable: on return contents and name survive a power loss.
    package static func replace(
        _ path: String, with bytes: some ContiguousBytes, draft: String? = nil, isDurable: Bool = true
    ) throws(Failure) {
        let draft = draft ?? "\(path).new-\(UUID().uuidString)"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw Failure(path: draft, number: errno) }
        defer { close(file) }
        guard bytes.withUnsafeBytes({ writeAll($0, to: file) }), !isDurable || fsync(file) == 0,
            rename(draft, path) == 0
        else {
            let failure = Failure(path: path, number: errno)
            unlink(draft)
            throw failure
        }
        guard isDurable else { return }
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    /// - Returns: false: errno says why.
    package static func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = write(file, bytes.baseAddress! + done, bytes.count - done)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }
}
