package import FileProvider
package import HTTPTransport

/// A key pair for S3, perhaps one for a while.
package struct S3Credentials: Sendable, Hashable {
    package var accessKey: String
    package var secretKey: Secret
    /// With temporary credentials (STS).
    package var sessionToken: Secret?
    /// The moment after which the server refuses them; nil: they stay valid.
    package var expiration: FileTime?

    package init(accessKey: String, secretKey: Secret, sessionToken: Secret? = nil, expiration: FileTime? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

/// Finds the credentials: in the environment, in a profile, in the keyring.
package protocol S3CredentialSource: Sendable {
    /// The present credentials; nil: none, and requests are not signed (a public bucket).
    ///
    /// - Throws: why they are unavailable, for people.
    func credentials() async throws -> S3Credentials?
    /// The server does not take these credentials.
    ///
    /// - Returns: whether there are others by now.
    func refused(_ keys: S3Credentials) async -> Bool
    /// The user may have signed in again. Must not block.
    func mayHaveChanged()
    /// Nobody asks any more.
    func end() async
}

/// Credentials that never change, or none.
package struct FixedS3Credentials: S3CredentialSource {
    private let value: S3Credentials?
    package init(_ value: S3Credentials?) { self.value = value }
    package func credentials() async throws -> S3Credentials? { value }
}

extension S3CredentialSource {
    /// For credentials that are looked up each time.
    package func mayHaveChanged() {}
    package func refused(_ keys: S3Credentials) async -> Bool { false }
    package func end() async {}
}
