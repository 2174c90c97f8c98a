import Accounts
import ControlAPI
import Daemon
import Stores

/// The advice for a domain that waits for a password.
enum SignInHint {
    /// Nil: the domain does not wait for a password.
    static func line(_ domain: DomainStatus) -> String? {
        guard domain.connection?.needsSignIn == true else { return nil }
        let named = (try? ConfigurationFile().load().domains[domain.domain]) ?? nil
        let scheme = String(domain.provider.prefix { $0 != ":" })
        if named == nil && builtInStores[scheme]?.hasAccounts != true {
            return "not signed in; sign in to the store again"
        }
        return "not signed in; hydrant login \(named == nil ? domain.provider : domain.domain)"
    }
}
