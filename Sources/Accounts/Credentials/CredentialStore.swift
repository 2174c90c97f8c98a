import Foundation
package import HTTPTransport
import Surroundings

/// Stores passwords and tokens under the names of domains.
package protocol CredentialStore: Sendable {
    /// For people, in `hydrant domain list`.
    var place: String { get }
    func secret(of domain: String) throws(AccountError) -> Secret?
    /// On return the secret survives a restart of the machine.
    func keep(_ secret: Secret, of domain: String) throws(AccountError)
    /// Deletes the secret, if there is one.
    func forget(_ domain: String) throws(AccountError)
}

/// A folder of files with mode 0600.
package struct FileStore: CredentialStore {
    private let folder: String

    package init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(AccountError) {
        folder = try ConfigurationFile.folder(.data, environment) + "/credentials"
    }

    package var place: String { folder }

    package func secret(of domain: String) throws(AccountError) -> Secret? {
        let path = folder + "/" + domain
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw PrivateFile.last(path)
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw AccountError(
                "\(path): others can read this file, or it is not yours; chmod 600 it, and change the password")
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw PrivateFile.last(path) }
        return Secret(String(decoding: data, as: UTF8.self))
    }

    package func keep(_ secret: Secret, of domain: String) throws(AccountError) {
        try PrivateFile.makeFolder(folder)
        try PrivateFile.write(Array(secret.revealed.utf8), to: folder + "/" + domain)
    }

    package func forget(_ domain: String) throws(AccountError) {
        let path = folder + "/" + domain
        guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else { throw PrivateFile.last(path) }
    }
}

/// Which domains have a password that the server gave to Hydrant: a file for each, with the name to sign in with.
struct AppPasswordNotes: Sendable {
    private let folder: String

    init(environment: [String: String]) throws(AccountError) {
        folder = try ConfigurationFile.folder(.data, environment) + "/app-passwords"
    }

    func has(_ domain: String) -> Bool { access(folder + "/" + domain, F_OK) == 0 }

    /// Nil: not known (an empty note).
    func user(of domain: String) -> String? {
        guard let data = FileManager.default.contents(atPath: folder + "/" + domain), (1...1_000).contains(data.count)
        else { return nil }
        return String(validating: data, as: UTF8.self)
    }

    func keep(_ domain: String, user: String) throws(AccountError) {
        try PrivateFile.makeFolder(folder)
        try PrivateFile.write(Array(user.utf8), to: folder + "/" + domain)
    }

    func forget(_ domain: String) throws(AccountError) {
        let path = folder + "/" + domain
        guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else { throw PrivateFile.last(path) }
    }
}
