package import HTTPTransport
import Logging
package import MountHarness
package import WebDAVProvider

extension TestServer {
    package func settings() -> WebDAVSettings {
        var settings = WebDAVSettings()
        if options.isSecure { settings.http.certificateAuthorities = [authority] }
        return settings
    }

    package var credential: Credential? {
        options.wantsPassword ? .basic(user: Self.user, password: Secret(Self.password)) : nil
    }

    /// A provider for this server's folder.
    ///
    /// - Parameters:
    ///   - url: another URL for it: a proxy's.
    ///   - adjust: changes the settings.
    package func provider(
        at url: String? = nil, credentials: (any CredentialSource)? = nil, idleTimeout: Double = 30,
        _ adjust: (inout WebDAVSettings) -> Void = { _ in }
    ) throws -> WebDAVProvider {
        guard let root = HTTPLocation(url ?? self.url) else { throw HarnessError("“\(url ?? self.url)” is no URL") }
        var settings = settings()
        settings.http.idleTimeout = idleTimeout
        adjust(&settings)
        return try WebDAVProvider(
            root: root, settings: settings, credentials: credentials ?? FixedCredential(credential),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}
