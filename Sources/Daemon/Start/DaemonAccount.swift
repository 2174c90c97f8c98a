/// The account that a daemon signs in with. Contains no secret: the name tells where the password is kept.
package struct DaemonAccount: Sendable, Codable {
    /// The key of the stored password.
    package var name: String
    package var user: String?
    package var usesToken = false
    package var passwordCommand: [String]?
    package var certificateAuthority: String?
    /// Nobody signs in.
    package var isAnonymous = false
    /// What only this kind of store has, as its registration in `Stores` reads it.
    package var options: [String: String] = [:]

    package init(_ name: String) { self.name = name }
}
