package import Accounts

/// How a daemon signs in. There is no secret in it: where that is, the account's name says.
package struct DaemonAccount: Sendable, Codable {
    /// By which the password is kept.
    package var name: String
    package var user: String?
    package var usesToken: Bool
    package var passwordCommand: [String]?
    package var certificateAuthority: String?

    package init(_ name: String, _ settings: AccountSettings) {
        self.name = name
        user = settings.user
        usesToken = settings.usesToken
        passwordCommand = settings.passwordCommand
        certificateAuthority = settings.certificateAuthority
    }

    package var settings: AccountSettings {
        var settings = AccountSettings()
        settings.user = user
        settings.usesToken = usesToken
        settings.passwordCommand = passwordCommand
        settings.certificateAuthority = certificateAuthority
        return settings
    }
}
