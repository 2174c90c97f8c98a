package import Accounts
package import Daemon
import FileProvider
import Foundation
package import HTTPTransport
import Logging
import S3Provider
import WebDAVProvider

/// How users sign in to a domain.
package enum SignInKind: Sendable {
    /// A user name with a password, or a token.
    case password
    /// An access key with its secret key.
    case accessKey
    /// Not by Hydrant: the store needs no sign-in, or has its own.
    case none

    package init(_ settings: AccountSettings) {
        if settings.isAnonymous {
            self = .none
        } else if StoreURL.isS3(settings.url) {
            self = .accessKey
        } else if StoreURL.isWebDAV(settings.url), settings.user != nil || settings.usesToken {
            self = .password
        } else {
            self = .none
        }
    }
}

extension AccountSettings {
    /// A mount shows nothing before Hydrant knows a password.
    package var needsPassword: Bool {
        guard passwordCommand == nil else { return false }
        switch SignInKind(self) {
        case .none: return false
        case .password: return true
        case .accessKey: return (try? S3Store(self, name: "").hasCredentialsAround) == false
        }
    }
}

/// Tries to sign in, without a mount.
package enum AccountTrial {
    /// The outcome of a trial, for people.
    package struct Report: Sendable {
        /// Why the sign-in could not be tried; nil: it works.
        package var untried: String?
        /// What the store keeps, and what it lacks.
        package var notes: [String] = []
    }

    /// - Throws: why it does not work, for people.
    package static func signIn(
        _ settings: AccountSettings, _ secret: Secret, as name: String
    ) async throws(DaemonError) -> Report {
        try await report { () async throws(FileProviderError) -> [String] in
            if StoreURL.isS3(settings.url) {
                let credentials: S3Credentials
                do throws(AccountError) { credentials = try S3Store.credentials(secret, settings.user, name) } catch {
                    throw FileProviderError(.notAuthenticated, error.description)
                }
                return try await askBucket(settings, name, FixedS3Credentials(credentials))
            }
            let credential: Credential =
                settings.usesToken ? .bearer(secret) : .basic(user: settings.user ?? "", password: secret)
            try await ask(settings, credential)
            return []
        }
    }

    /// As ``signIn(_:_:as:)``, with the credentials that a mount of the bucket would use; nil: there are none yet.
    package static func bucket(
        _ settings: AccountSettings, as name: String
    ) async throws(DaemonError) -> Report? {
        let store = try S3Store(settings, name: name)
        guard settings.isAnonymous || store.hasCredentialsAround else { return nil }
        return try await report { () async throws(FileProviderError) -> [String] in
            try await askBucket(settings, name, nil)
        }
    }

    /// Whether everybody may read the bucket.
    package static func isPublic(_ settings: AccountSettings) async -> Bool {
        var settings = settings
        settings.isAnonymous = true
        return (try? await askBucket(settings, "", nil)) != nil
    }

    private static let silent = Logger(label: "hydrant") { _ in SwiftLogNoOpLogHandler() }

    private static func report(
        _ ask: () async throws(FileProviderError) -> [String]
    ) async throws(DaemonError) -> Report {
        do throws(FileProviderError) { return Report(notes: try await ask()) } catch {
            guard error.code == .serverUnreachable else { throw DaemonError(error.message) }
            return Report(untried: error.message)
        }
    }

    /// - Parameter credentials: nil: those of the account.
    private static func askBucket(
        _ settings: AccountSettings, _ name: String, _ credentials: FixedS3Credentials?
    ) async throws(FileProviderError) -> [String] {
        let provider: S3Provider
        do { provider = try S3Store(settings, name: name).provider(credentials, logger: silent) } catch {
            throw error as? FileProviderError ?? FileProviderError(.notAuthenticated, "\(error)")
        }
        let result: Result<[String], FileProviderError>
        do throws(FileProviderError) {
            _ = try await provider.providePlaceholder(for: .rootContainer)
            do throws(FileProviderError) { result = .success(try await provider.describeConditions()) } catch {
                guard error.code == .permissionDenied else { throw error }
                result = .success(["this key may not write: the documents can only be read"])
            }
        } catch { result = .failure(error) }
        await provider.invalidate()
        return try result.get()
    }

    private static func ask(_ settings: AccountSettings, _ credential: Credential?) async throws(FileProviderError) {
        let location: HTTPLocation
        do { location = try AccountURL.parse(settings.url).location } catch {
            throw FileProviderError(.invalidName, error.description)
        }
        let provider = try WebDAVProvider(
            root: location, settings: WebDAVSettings(settings), credentials: FixedCredential(credential), logger: silent
        )
        let result: Result<Void, FileProviderError>
        do throws(FileProviderError) {
            _ = try await provider.providePlaceholder(for: .rootContainer)
            result = .success(())
        } catch { result = .failure(error) }
        await provider.invalidate()
        try result.get()
    }

    /// The URL of the documents on a server of which only the name is given: Nextcloud and ownCloud have a folder for
    /// each user. Returns the given URL if nothing answers.
    package static func discover(_ settings: AccountSettings) async -> String {
        guard let named = try? AccountURL.parse(settings.url).location else { return settings.url }
        let given = CloudServer.withoutPage(named)
        var candidates = [given]
        if let user = settings.user {
            let names = ["remote.php", "dav", "files", user].map { Array($0.utf8) }
            candidates.append(HTTPLocation(origin: given.origin, components: given.components + names))
        }
        for candidate in candidates {
            var tried = settings
            tried.url = candidate.url
            do throws(FileProviderError) {
                try await ask(tried, nil)
                return candidate.url
            } catch {
                if error.code == .notAuthenticated { return candidate.url }
            }
        }
        return settings.url
    }
}
