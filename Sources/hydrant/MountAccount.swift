import Accounts
import ArgumentParser
import Daemon
import Foundation
import Stores

/// The account that an argument of `hydrant mount` or `hydrant login` names: by a domain's name, or by the URL of a
/// WebDAV folder or a bucket.
struct MountAccount {
    /// The key of the kept password.
    let name: String
    let settings: AccountSettings
    /// The domain's name in `config.toml`; nil: the argument was a URL.
    let domain: String?

    /// Nil: the text names another store, without an account here.
    init?(_ text: String) throws {
        if let colon = text.firstIndex(of: ":") {
            guard builtInStores[text[..<colon].lowercased()]?.hasAccounts == true else { return nil }
            var settings = AccountSettings()
            (settings.url, settings.user, _) = try StoreURL.parse(text)
            var text = text
            if StoreURL.isS3(settings.url) {
                settings.url = BucketURL.url(settings.url, endpoint: BucketURL.usualEndpoint(profile: nil))
                text = settings.url
            }
            self.settings = settings
            name = try StoreLocation(text, kind: .url, workingDirectory: "/").domainName
            domain = nil
        } else if text.contains("/") {
            return nil
        } else {
            var settings = try ConfigurationFile().domain(text)
            if StoreURL.isS3(settings.url), settings.s3.endpoint == nil, !settings.url.contains("?endpoint=") {
                settings.s3.endpoint = BucketURL.usualEndpoint(profile: settings.s3.profile)
            }
            self.settings = settings
            name = text
            domain = text
        }
    }

    /// The store's location as our provider takes it.
    var store: String {
        guard StoreURL.isWebDAV(settings.url) else {
            return StoreURL.isS3(settings.url)
                ? BucketURL.url(settings.url, endpoint: settings.s3.endpoint) : settings.url
        }
        let user = settings.user.map { user in
            let encoded = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? user
            return encoded + "@"
        }
        let isSecure = settings.url.hasPrefix("https://")
        let rest = settings.url.dropFirst(isSecure ? 8 : 7)
        return "\(isSecure ? "webdavs" : "webdav")://\(user ?? "")\(rest)"
    }

    /// The store's location as its daemon reports it.
    var canonical: String? {
        let scheme = store.prefix { $0 != ":" }
        let kind = builtInStores[scheme.lowercased()]?.kind ?? .name
        return try? StoreLocation(store, kind: kind, workingDirectory: "/").canonical
    }

    var places: CredentialPlaces { get throws { try CredentialPlaces(name, settings) } }

    /// The warning about a mount that shows nothing before a sign-in; nil: there is a password, or none is needed.
    var missingPassword: String? {
        guard settings.needsPassword else { return nil }
        do { if try places.find() != nil { return nil } } catch { return nil }
        return
            "no password yet, so nothing can be read; sign in with hydrant login \(domain ?? StoreLocation.shown(store))"
    }

    /// Asks on the terminal, if there is one and no password is known yet.
    func askForPassword() throws {
        guard settings.needsPassword, PasswordInput.hasTerminal else { return }
        do {
            guard try places.find() == nil else { return }
            let secret = try PasswordInput.ask(for: settings, at: name)
            _ = try places.keep(secret)
        } catch { throw fail("\(error)") }
    }
}
