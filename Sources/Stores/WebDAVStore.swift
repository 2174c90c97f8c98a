package import Accounts
import CLinux
package import Daemon
import Foundation
import HTTPTransport
import Logging
import WebDAVProvider

extension ProviderRegistration {
    /// `webdavs://USER@HOST/PATH`, and `webdav:` without encryption.
    static func webDAV(scheme: String) -> ProviderRegistration {
        ProviderRegistration(scheme: scheme, kind: .url, hasAccounts: true, danger: danger) { location, account in
            // From here on the process has a password in its memory.
            guard clinux_leave_no_core() == 0 else { throw DaemonError("core dumps cannot be turned off") }
            let text = "\(location.scheme):\(location.rest)"
            let (root, user, _) = try AccountURL.parse(text)
            var settings = account?.settings ?? AccountSettings()
            settings.user = settings.user ?? user
            let places = try CredentialPlaces(account?.name ?? location.domainName, settings)
            return try WebDAVProvider(
                root: root, settings: WebDAVSettings(settings), credentials: StoredCredential(places),
                logger: Logger(label: "hydrant"))
        }
    }

    @Sendable private static func danger(_ store: String) -> DoctorProblem? {
        guard let origin = try? AccountURL.parse(store).location.origin, origin.isReadByOthers else { return nil }
        return DoctorProblem(
            place: "\(origin)", what: "uses http://, which is not encrypted",
            meaning: "others on the network can read the documents and the password; mount it with https://")
    }
}

extension WebDAVSettings {
    init(_ settings: AccountSettings) {
        self.init()
        if let file = settings.certificateAuthority { http.certificateAuthorities = [file] }
    }
}

extension DaemonAccount {
    package init(_ name: String, _ settings: AccountSettings) {
        self.init(name)
        user = settings.user
        usesToken = settings.usesToken
        passwordCommand = settings.passwordCommand
        certificateAuthority = settings.certificateAuthority
        isAnonymous = settings.isAnonymous
        if StoreURL.isS3(settings.url) { options = settings.s3.texts }
    }

    var settings: AccountSettings {
        var settings = AccountSettings()
        settings.user = user
        settings.usesToken = usesToken
        settings.passwordCommand = passwordCommand
        settings.certificateAuthority = certificateAuthority
        settings.isAnonymous = isAnonymous
        settings.s3 = S3Options(options)
        return settings
    }
}
