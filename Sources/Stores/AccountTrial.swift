package import Accounts
package import Daemon
import FileProvider
package import HTTPTransport
import Logging
import WebDAVProvider

/// Tries to sign in, without a mount.
package enum AccountTrial {
    /// - Returns: why the sign-in could not be tried; nil: it works.
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

    /// The URL of the documents on a server of which only the name is given: Nextcloud and ownCloud have a folder for
    /// each user. Returns the given URL if nothing answers.
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
