/// The account that a daemon signs in with. Contains no secret: the name tells where the password is kept.
package struct DaemonAccount: Sendable, Codable {
    /// The key of the stored password.
    package var name: String
    package var user: String?
    package var usesToken = false
    package var passwordCommand: [String]?
    package var certificateAuthority: String?

    package init(_ name: String) { self.name = name }
}
