import Foundation

/// Something that must never be shown: a password, a token. It prints as `***`, also inside of other things.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The only way to it.
    package let revealed: String
    package init(_ secret: String) { revealed = secret }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// How we say who we are.
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

/// Where the credential comes from: a keyring, a file, a command.
package protocol CredentialSource: Sendable {
    /// What is there now; nil: nothing (then nothing is sent).
    ///
    /// - Throws: why it cannot be had (a keyring that is locked, a helper that fails), for people.
    func credential() async throws -> Credential?
}

/// A credential that never changes, or none.
package struct FixedCredential: CredentialSource {
    private let value: Credential?
    package init(_ value: Credential?) { self.value = value }
    package func credential() async throws -> Credential? { value }
}
