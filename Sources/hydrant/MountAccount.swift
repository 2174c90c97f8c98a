import Accounts
import ArgumentParser
import Daemon
import Foundation
import Stores

/// The account behind what `hydrant mount` or `hydrant login` is given: the name of a domain, or the URL of a WebDAV folder.
struct MountAccount {
    /// By which the password is kept.
    let name: String
    let settings: AccountSettings
    /// The name of a domain in `config.toml`; nil: it was a URL.
    let domain: String?

    /// Nil: it is another store, without an account here.
    init?(_ text: String) throws {
        if let colon = text.firstIndex(of: ":") {
            guard builtInStores[text[..<colon].lowercased()]?.hasAccounts == true else { return nil }
            let (_, user, url) = try AccountURL.parse(text)
            var settings = AccountSettings()
            settings.url = url
            settings.user = user
            self.settings = settings
            name = try StoreLocation(text, kind: .url, workingDirectory: "/").domainName
            domain = nil
        } else if text.contains("/") {
            return nil
        } else {
            settings = try ConfigurationFile().domain(text)
            name = text
            domain = text
        }
    }

    /// As a provider of ours is asked for it.
    var store: String {
        let user = settings.user.map { user in
            let encoded = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? user
            return encoded + "@"
        }
        let isSecure = settings.url.hasPrefix("https://")
        let rest = settings.url.dropFirst(isSecure ? 8 : 7)
        return "\(isSecure ? "webdavs" : "webdav")://\(user ?? "")\(rest)"
    }

    /// As its daemon calls the store.
    var canonical: String? { try? StoreLocation(store, kind: .url, workingDirectory: "/").canonical }

    var places: CredentialPlaces { get throws { try CredentialPlaces(name, settings) } }

    /// What to say of a mount that shows nothing before somebody signs in; nil: there is a password, or none is needed.
    var missingPassword: String? {
        guard settings.user != nil || settings.usesToken, settings.passwordCommand == nil else { return nil }
        do { if try places.find() != nil { return nil } } catch { return nil }
        return
            "there is no password yet, and nothing can be read before there is: hydrant login \(domain ?? StoreLocation.shown(store))"
    }

    /// Where somebody sits who can be asked, and nothing is known yet.
    func askForPassword() throws {
        guard settings.user != nil || settings.usesToken, settings.passwordCommand == nil, PasswordInput.hasTerminal
        else {
            return
        }
        do {
            guard try places.find() == nil else { return }
            let secret = try PasswordInput.ask(for: settings, at: name)
            _ = try places.keep(secret)
        } catch { throw fail("\(error)") }
    }
}
