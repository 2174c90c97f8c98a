import Accounts
import CLinux
package import Daemon
import FileProvider
import Foundation
import HTTPTransport
import Logging
import S3Provider

extension ProviderRegistration {
    /// `s3://BUCKET/PREFIX`, with `?endpoint=URL` of a server that is not Amazon's.
    static let s3 = ProviderRegistration(scheme: "s3", kind: .url, hasAccounts: true, danger: danger) {
        location, account in
        // From here on the process has a secret key in its memory.
        guard clinux_leave_no_core() == 0 else { throw DaemonError("core dumps cannot be turned off") }
        var settings = account?.settings ?? AccountSettings()
        settings.url = "\(location.scheme):\(location.rest)"
        return try S3Store(settings, name: account?.name ?? location.domainName).provider()
    }

    @Sendable private static func danger(_ store: String) -> DoctorProblem? {
        guard let endpoint = try? S3Address(store).endpoint, let origin = HTTPLocation(endpoint)?.origin,
            origin.isReadByOthers
        else { return nil }
        return DoctorProblem(
            place: "\(origin)", what: "uses http://, which is not encrypted",
            meaning: "others on the network can read the documents; give the domain an endpoint with https://")
    }
}

/// A bucket with the account of a domain.
struct S3Store {
    let address: S3Address
    let account: AccountSettings
    let name: String
    private let environment: [String: String]
    private var profile: [String: String]

    init(
        _ account: AccountSettings, name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(DaemonError) {
        do { address = try S3Address(account.url) } catch { throw DaemonError(error.description) }
        self.account = account
        self.name = name
        self.environment = environment
        profile = S3CredentialChain.profile(account.s3.profile, environment)
    }

    /// The domain's own settings first, then the environment's, then the profile's. The server belongs to the location, and
    /// comes from there alone (``BucketURL/usualEndpoint(profile:environment:)``): in another environment, the bucket with
    /// the same name on another server would be taken for this one.
    private func settings() throws(DaemonError) -> S3Settings {
        var settings = S3Settings()
        let options = account.s3
        settings.endpoint = options.endpoint ?? address.endpoint
        settings.region =
            options.region ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? profile["region"]
        settings.isPathStyle = options.isPathStyle
        settings.isRequesterPays = options.isRequesterPays
        if let url = options.notifications {
            do throws(S3NotificationAddress.Problem) { settings.notifications = try S3NotificationAddress(url) } catch {
                throw DaemonError(error.description)
            }
        }
        if let file = account.certificateAuthority { settings.http.certificateAuthorities = [file] }
        return settings
    }

    /// - Parameter credentials: instead of those of the account.
    func provider(
        _ credentials: (any S3CredentialSource)? = nil, logger: Logger = Logger(label: "hydrant")
    ) throws -> S3Provider {
        let settings = try settings()
        var source = credentials
        if source == nil, account.isAnonymous { source = FixedS3Credentials(nil) }
        return try S3Provider(
            address: address, settings: settings, credentials: try source ?? chain(settings, logger),
            isReadOnly: account.isAnonymous && credentials == nil, logger: logger)
    }

    private func chain(_ settings: S3Settings, _ logger: Logger) throws -> S3CredentialChain {
        let stored = try CredentialPlaces(name, account)
        var places = S3CredentialChain.Places()
        places.stored = {
            guard let secret = try await StoredCredential(stored).secret() else { return nil }
            return try Self.credentials(secret, account.user, name)
        }
        places.profile = account.s3.profile
        // A domain with an access key of its own takes no other.
        places.environment = ownsKey ? [:] : environment
        places.region = settings.region
        places.http = settings.http
        places.advice = "sign in with hydrant login \(name)"
        return S3CredentialChain(places, logger: logger)
    }

    /// From the secret key alone, where the domain has the access key, or from `ACCESSKEY:SECRETKEY`.
    static func credentials(_ secret: Secret, _ user: String?, _ name: String) throws(AccountError) -> S3Credentials {
        if let user { return S3Credentials(accessKey: user, secretKey: secret) }
        let parts = secret.revealed.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else {
            throw AccountError(
                "\(name): that is no access key with its secret key; write ACCESSKEY:SECRETKEY in one line, or give the "
                    + "domain the access key as its user")
        }
        return S3Credentials(accessKey: String(parts[0]), secretKey: Secret(String(parts[1])))
    }

    private var ownsKey: Bool { account.user != nil && account.s3.profile == nil }

    /// Whether requests can be signed without `hydrant login`.
    var hasCredentialsAround: Bool { !ownsKey && S3CredentialChain.areAround(environment, profile: account.s3.profile) }
}

extension S3Options {
    /// For the configuration of a daemon.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["endpoint"] = endpoint
        texts["region"] = region
        texts["path-style"] = isPathStyle.map { "\($0)" }
        texts["profile"] = profile
        texts["requester-pays"] = isRequesterPays ? "true" : nil
        texts["notifications"] = notifications
        return texts
    }

    init(_ texts: [String: String]) {
        self.init()
        endpoint = texts["endpoint"]
        region = texts["region"]
        isPathStyle = texts["path-style"].map { $0 == "true" }
        profile = texts["profile"]
        isRequesterPays = texts["requester-pays"] == "true"
        notifications = texts["notifications"]
    }
}

/// The location of a bucket, for the command.
package enum BucketURL {
    /// With the server that has the bucket; the location of another store as it is.
    package static func url(_ url: String, endpoint: String?) -> String { S3Address.url(url, endpoint: endpoint) }

    /// The server that the environment or a profile names for all buckets; nil: Amazon's. It belongs to the location: the
    /// bucket with the same name on another server is another store.
    package static func usualEndpoint(
        profile: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"]
            ?? S3CredentialChain.profile(profile, environment)["endpoint_url"]
    }

    /// - Throws: for a text that is none.
    package static func check(_ url: String) throws(DaemonError) {
        do { _ = try S3Address(url) } catch { throw DaemonError(error.description) }
    }
}
