/// What of a domain outlives its catalog and its documents: with these, bookmarks, references and grants that were given away are
/// good again after the next sign-in.
package enum KeptFiles {
    package static let key = "bookmarks.json"
    package static let grants = "grants.json"
    package static let identifiers = "identifiers.jsonl"
    /// (The lock is held while the rest is removed.)
    package static let names: Set<String> = [key, grants, identifiers, "lock"]
}
