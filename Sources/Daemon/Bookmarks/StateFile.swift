import Foundation
import Surroundings

/// Small files in the state directory.
enum StateFile {
    /// Replaced whole, and on disk when this returns; mode 0600.
    static func write(_ data: Data, to path: String) throws {
        do throws(SmallFile.Failure) { try SmallFile.replace(path, with: data) } catch {
            throw DaemonError("\(error.path): cannot be written: \(error.reason)")
        }
    }
}

/// What of a domain outlives its catalog and its documents: with these, bookmarks, references and grants that were given away are
/// good again after the next sign-in.
enum KeptFiles {
    static let key = "bookmarks.json"
    static let grants = "grants.json"
    static let identifiers = "identifiers.jsonl"
    /// (The lock is held while the rest is removed.)
    static let names: Set<String> = [key, grants, identifiers, "lock"]
}
