/// How a daemon signs in. There is no secret in it: where that is, the account's name says.
package struct DaemonAccount: Sendable, Codable {
    /// By which the password is kept.
    package var name: String
    package var user: String?
    package var usesToken = false
    package var passwordCommand: [String]?
    package var certificateAuthority: String?

    package init(_ name: String) { self.name = name }
}
