/// The files that outlive a domain's catalog and documents: with them, bookmarks, references and grants work again
/// after the next sign-in.
package enum KeptFiles {
    package static let key = "bookmarks.json"
    package static let grants = "grants.json"
    package static let identifiers = "identifiers.jsonl"
    /// (The lock is held while the other files are removed.)
    package static let names: Set<String> = [key, grants, identifiers, "lock"]
}
