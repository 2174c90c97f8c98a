import Foundation

/// A secret: a password, a token. It prints as `***`, also inside other values.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The only access to the secret.
    package let revealed: String
    package init(_ secret: String) { revealed = secret }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The credential sent to a server.
package enum Credential: Sendable, Hashable {
    /// RFC 7617. The user's name has no colon.
    case basic(user: String, password: Secret)
    /// RFC 6750.
    case bearer(Secret)

    /// The value of the header `Authorization`.
    package var authorization: Secret {
        switch self {
        case .basic(let user, let password):
            Secret("Basic " + Data("\(user):\(password.revealed)".utf8).base64EncodedString())
        case .bearer(let token): Secret("Bearer " + token.revealed)
        }
    }
}

/// Provides the credential: from a keyring, a file, a command.
package protocol CredentialSource: Sendable {
    /// The present credential; nil: none (nothing is sent).
    ///
    /// - Throws: why it is unavailable (a locked keyring, a failing helper), for people.
    func credential() async throws -> Credential?
}

/// A credential that never changes, or none.
package struct FixedCredential: CredentialSource {
    private let value: Credential?
    package init(_ value: Credential?) { self.value = value }
    package func credential() async throws -> Credential? { value }
}
