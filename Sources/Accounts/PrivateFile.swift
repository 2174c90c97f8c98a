import Foundation
import Surroundings

/// Files that only their owner can read, replaced whole.
enum PrivateFile {
    static func makeFolder(_ path: String) throws(AccountError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw AccountError("\(path): cannot be made: \(error.localizedDescription)") }
    }

    /// On return it is on disk, with mode 0600.
    static func write(_ bytes: [UInt8], to path: String) throws(AccountError) {
        // Keeps a link to a file elsewhere.
        let target =
            realpath(path, nil).map { pointer in
                defer { free(pointer) }
                return String(cString: pointer)
            } ?? path
        do throws(SmallFile.Failure) { try SmallFile.replace(target, with: bytes) } catch {
            throw AccountError("\(error.path): \(error.reason)")
        }
    }

    static func last(_ path: String) -> AccountError { AccountError("\(path): \(String(cString: strerror(errno)))") }
}
