import FileProvider
import HTTPTransport

/// A lock of Nextcloud's app files_lock that keeps us from changing a document: another user's, an app's in which users
/// edit it together, or one that belongs to a program with its own token.
///
/// Source: github.com/nextcloud/files_lock, README: `nc:lock`, `nc:lock-owner-type`, `nc:lock-owner`,
/// `nc:lock-owner-displayname`.
struct CloudLock: Sendable, Hashable {
    /// For people.
    var owner: String

    /// In characters.
    private static let longest = 100

    /// Nil: not locked, or by this user, who may change it.
    ///
    /// - Parameter location: the document, whose URL names this user.
    init?(_ properties: DAVProperties, at location: HTTPLocation) {
        guard let lock = properties[.lock], ["1", "true"].contains(lock.lowercased()) else { return nil }
        let owner = properties[.lockOwner] ?? ""
        let isOfUser = properties[.lockOwnerType].map { $0.isEmpty || $0 == "0" } ?? true
        if isOfUser, let user = CloudPlaces(root: location)?.user, user == Array(owner.utf8) { return nil }
        let name = properties[.lockOwnerName].flatMap { $0.isEmpty ? nil : $0 } ?? owner
        self.owner = name.isEmpty ? "another user" : String(name.prefix(Self.longest))
    }

    func error(_ name: Filename) -> FileProviderError {
        FileProviderError(
            .busy, "“\(name)”: is locked on the server by \(owner); Hydrant sends the change when the lock is gone")
    }
}

extension DAVProperty {
    /// Requested of a server that has the app only.
    static let ofLocks: Set<DAVProperty> = [.lock, .lockOwnerType, .lockOwner, .lockOwnerName]
}

extension DAVClient {
    /// The error that names the owner of the lock on a document; nil: none is known.
    func lockError(at location: HTTPLocation) async -> FileProviderError? {
        guard asks(for: .lock), let lock = try? await resource(location)?.lock else { return nil }
        return lock.error(Filename(bytes: location.components.last ?? []))
    }
}

extension WebDAVProvider {
    /// As ``refusal(_:_:)``; for a locked document the error names the owner of the lock.
    func refusal(_ status: Int, _ what: Filename, at location: HTTPLocation) async -> FileProviderError {
        if status == 423, let error = await client.lockError(at: location) { return error }
        return refusal(status, what)
    }
}
