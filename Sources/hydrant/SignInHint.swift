import Accounts
import ControlAPI
import Daemon
import Stores

/// The advice for a domain that waits for a password.
enum SignInHint {
    /// Nil: the domain does not wait for a password.
    static func line(_ domain: DomainStatus) -> String? {
        guard domain.connection?.needsSignIn == true else { return nil }
        guard let words = command(domain) else { return "not signed in; sign in to the store again" }
        return "not signed in; hydrant \(words.joined(separator: " "))"
    }

    /// What to run with `hydrant` to sign in; nil: Hydrant keeps no password for the domain.
    @Sendable static func command(_ domain: DomainStatus) -> [String]? {
        let named = (try? ConfigurationFile().load().domains[domain.domain]) ?? nil
        let scheme = String(domain.provider.prefix { $0 != ":" })
        if named == nil && builtInStores[scheme]?.hasAccounts != true { return nil }
        return ["login", named == nil ? domain.provider : domain.domain]
    }
}
