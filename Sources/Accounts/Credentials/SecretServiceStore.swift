import CSecret
import Foundation
package import HTTPTransport

/// The desktop's keyring, over D-Bus (freedesktop.org, Secret Service API), through libsecret.
///
/// Its calls wait for the keyring, and for a person while the keyring is locked: call them on a thread of your own.
package struct SecretServiceStore: CredentialStore {
    package init() {}

    package var place: String { "Secret Service" }

    /// Whether a keyring runs for this user.
    package static var isRunning: Bool { csecret_is_running() }

    package func secret(of domain: String) throws(AccountError) -> Secret? {
        var error: UnsafeMutablePointer<CChar>?
        let found = csecret_find(domain, &error)
        defer { csecret_free(found) }
        try check(error)
        return found.map { Secret(String(cString: $0)) }
    }

    package func keep(_ secret: Secret, of domain: String) throws(AccountError) {
        var error: UnsafeMutablePointer<CChar>?
        csecret_keep(domain, "Hydrant: \(domain)", secret.revealed, &error)
        try check(error)
    }

    package func forget(_ domain: String) throws(AccountError) {
        var error: UnsafeMutablePointer<CChar>?
        csecret_forget(domain, &error)
        try check(error)
    }

    private func check(_ error: UnsafeMutablePointer<CChar>?) throws(AccountError) {
        guard let error else { return }
        defer { free(error) }
        throw AccountError("the keyring (Secret Service): \(String(cString: error))")
    }
}
