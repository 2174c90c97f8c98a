package import Accounts
import CLinux
import FileProvider
import Foundation
package import HTTPTransport
import Logging
import WebDAVProvider

extension ProviderMaker {
    /// `webdavs://USER@HOST/PATH`, and `webdav:` without encryption.
    static func webDAV(scheme: String) -> ProviderMaker {
        ProviderMaker(scheme: scheme, kind: .url) { location, wishes in
            // A password is in our memory from here on.
            guard clinux_leave_no_core() == 0 else { throw DaemonError("core dumps cannot be turned off") }
            let text = "\(location.scheme):\(location.rest)"
            let (root, user, _) = try AccountURL.parse(text)
            var settings = wishes.account?.settings ?? AccountSettings()
            settings.user = settings.user ?? user
            let places = try CredentialPlaces(wishes.account?.name ?? location.domainName, settings)
            return try WebDAVProvider(
                root: root, settings: WebDAVSettings(settings), credentials: StoredCredential(places),
                logger: Logger(label: "hydrant"))
        }
    }
}

extension WebDAVSettings {
    init(_ settings: AccountSettings) {
        self.init()
        if let file = settings.certificateAuthority { http.certificateAuthorities = [file] }
    }
}

/// Tries to sign in, without a mount.
package enum AccountTrial {
    /// - Returns: why it could not be tried; nil: it works.
    /// - Throws: why it does not work, for people.
    package static func signIn(
        _ settings: AccountSettings, _ credential: Credential
    ) async throws(DaemonError) -> String? {
        do throws(FileProviderError) {
            try await ask(settings, credential)
            return nil
        } catch {
            guard error.code == .serverUnreachable else { throw DaemonError(error.message) }
            return error.message
        }
    }

    private static func ask(_ settings: AccountSettings, _ credential: Credential?) async throws(FileProviderError) {
        let location: HTTPLocation
        do { location = try AccountURL.parse(settings.url).location } catch {
            throw FileProviderError(.invalidName, error.description)
        }
        let provider = try WebDAVProvider(
            root: location, settings: WebDAVSettings(settings), credentials: FixedCredential(credential),
            logger: Logger(label: "hydrant") { _ in SwiftLogNoOpLogHandler() })
        let result: Result<Void, FileProviderError>
        do throws(FileProviderError) {
            _ = try await provider.providePlaceholder(for: .rootContainer)
            result = .success(())
        } catch { result = .failure(error) }
        await provider.invalidate()
        try result.get()
    }

    /// Where the documents are on a server of which only the name is known: Nextcloud and ownCloud have a folder for each
    /// user. The URL as it is, where nothing answers.
    package static func discover(_ settings: AccountSettings) async -> String {
        guard let given = try? AccountURL.parse(settings.url).location else { return settings.url }
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
