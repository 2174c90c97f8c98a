import Foundation
package import HTTPTransport

/// The places of a domain's credential: a command of the user's, the keyring, or a file.
package struct CredentialPlaces: Sendable {
    package let domain: String
    package let settings: AccountSettings
    private let file: FileStore
    private let appPasswords: AppPasswordNotes

    package init(
        _ domain: String, _ settings: AccountSettings,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(AccountError) {
        self.domain = domain
        self.settings = settings
        file = try FileStore(environment: environment)
        appPasswords = try AppPasswordNotes(environment: environment)
    }

    /// The secret, and its place. Blocks: for the keyring, for a person who unlocks it, for the command.
    package func find() throws(AccountError) -> (secret: Secret, place: String)? {
        if let command = settings.passwordCommand {
            return (try HelperCommand(command).run(), "command \(command[0])")
        }
        // A file exists because no keyring was running: it is tried first, as the keyring may be locked.
        if let secret = try file.secret(of: domain) { return (secret, "file \(file.place)/\(domain)") }
        guard SecretServiceStore.isRunning else { return nil }
        let keyring = SecretServiceStore()
        return try keyring.secret(of: domain).map { ($0, keyring.place) }
    }

    /// Stores the secret in the keyring if one is running and accepts it, else in a file.
    ///
    /// - Parameter user: the server gave Hydrant the secret for this login name; Hydrant revokes it at the sign-out.
    /// - Returns: the place.
    package func keep(_ secret: Secret, appPasswordOf user: String? = nil) throws(AccountError) -> String {
        // The note is never there with a password that is the user's own.
        try appPasswords.forget(domain)
        let place = try keepSecret(secret)
        guard let user else { return place }
        do throws(AccountError) { try appPasswords.keep(domain, user: user) } catch {
            // (Another domain of this name must not find it.)
            try? forget()
            throw error
        }
        return place
    }

    /// The server gave the kept password to Hydrant.
    package var isAppPassword: Bool { settings.passwordCommand == nil && appPasswords.has(domain) }

    /// The name to sign in with. An app password is good only with the name that was typed for it, an address say. The
    /// domain keeps its own, by which its documents here are known.
    package var user: String? { (isAppPassword ? appPasswords.user(of: domain) : nil) ?? settings.user }

    private func keepSecret(_ secret: Secret) throws(AccountError) -> String {
        if SecretServiceStore.isRunning {
            let keyring = SecretServiceStore()
            do throws(AccountError) {
                try keyring.keep(secret, of: domain)
                try file.forget(domain)
                return keyring.place
            } catch {}
        }
        try file.keep(secret, of: domain)
        return "file \(file.place)/\(domain)"
    }

    package func forget() throws(AccountError) {
        try file.forget(domain)
        if SecretServiceStore.isRunning { try SecretServiceStore().forget(domain) }
        try appPasswords.forget(domain)
    }

    package func credential(_ secret: Secret) -> Credential {
        settings.usesToken ? .bearer(secret) : .basic(user: user ?? "", password: secret)
    }
}

/// The stored credential, for a transport.
package struct StoredCredential: CredentialSource {
    private let places: CredentialPlaces
    package init(_ places: CredentialPlaces) { self.places = places }

    package func credential() async throws -> Credential? { try await secret().map { places.credential($0) } }

    /// Nil: there is none.
    package func secret() async throws -> Secret? {
        // On a thread of its own: the call may wait for a person.
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: Result { try places.find()?.secret })
            }
            thread.name = "credential"
            thread.start()
        }
    }
}
