package import Accounts
package import Daemon
import FileProvider
import Foundation
package import HTTPTransport
import Logging
import Surroundings

/// A Nextcloud, found at the URL of a domain: a folder on its server may be its topmost one.
struct CloudServer: Sendable {
    let base: HTTPLocation
    let transport: HTTPTransport

    /// - Parameters:
    ///   - credential: sent with each request.
    ///   - isPatient: false: a server that does not answer at once is not asked again.
    /// - Throws: for a URL or a file of certificates that cannot be read.
    init(_ settings: AccountSettings, _ credential: Credential? = nil, isPatient: Bool = true) throws(FileProviderError)
    {
        let location: HTTPLocation
        do { location = try AccountURL.parse(settings.url).location } catch {
            throw FileProviderError(.invalidName, error.description)
        }
        let names = location.components
        let end = names.firstIndex { $0 == Array("remote.php".utf8) } ?? names.endIndex
        base = HTTPLocation(origin: location.origin, components: Array(names[..<end]))
        var http = HTTPSettings()
        if let file = settings.certificateAuthority { http.certificateAuthorities = [file] }
        // Users see it as the name of the app password.
        let host = Machine.host.unicodeScalars.filter { $0.value > 32 && $0.value < 127 }
        http.userAgent = host.isEmpty ? "Hydrant" : "Hydrant (\(String(String.UnicodeScalarView(host))))"
        if !isPatient { (http.connectTimeout, http.idleTimeout) = (5, 10) }
        transport = try HTTPTransport(
            settings: http, credentials: FixedCredential(credential),
            logger: Logger(label: "hydrant") { _ in SwiftLogNoOpLogHandler() })
    }

    func page(_ names: String, query: String? = nil) -> HTTPLocation {
        HTTPLocation(
            origin: base.origin, components: base.components + names.split(separator: "/").map { Array($0.utf8) },
            isFolder: false, query: query)
    }

    /// The answer's status, and its body where that is small.
    func ask(_ request: HTTPRequest) async throws(FileProviderError) -> (status: Int, body: [String: Any]) {
        let (status, bytes) = try await transport.exchange(request) { reply in
            let bytes = try await reply.prefix(Self.mostBytes + 1)
            return (reply.status, reply.encoding == nil && bytes.count <= Self.mostBytes ? bytes : [])
        }
        return (status, (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:])
    }

    private static let mostBytes = 64 << 10

    /// The data of an OCS answer.
    static func data(_ body: [String: Any]) -> [String: Any] {
        (body["ocs"] as? [String: Any])?["data"] as? [String: Any] ?? [:]
    }
}

/// Nextcloud's Login Flow v2: the user signs in with a browser, and the server gives us an app password, which the user
/// can revoke there.
///
/// Source: docs.nextcloud.com, developer manual, Login Flow.
package struct LoginFlow: Sendable {
    /// For the user's browser. Letters, digits and signs of ASCII only.
    package let page: String
    private let poll: HTTPLocation
    private let token: String
    private let server: CloudServer
    private let settings: AccountSettings

    /// The result.
    package struct Grant: Sendable {
        /// The name to sign in with.
        package var user: String
        package var password: Secret
        /// The folder of the user's documents, or the one that the domain named.
        package var url: String
    }

    /// The server keeps the page for as long.
    package static let patience = Duration.seconds(20 * 60)
    private static let pause = Duration.seconds(1)

    /// Nil: the server is no Nextcloud, or does not answer.
    ///
    /// - Throws: when its answer cannot be trusted: for people.
    package static func begin(_ settings: AccountSettings) async throws(DaemonError) -> LoginFlow? {
        do throws(FileProviderError) {
            let server = try CloudServer(settings)
            let (status, answer) = try await server.ask(HTTPRequest("GET", server.page("status.php"), retries: .never))
            guard status == 200, answer["versionstring"] is String, answer["installed"] as? Bool == true else {
                await server.transport.shutdown()
                return nil
            }
            let flow = try await LoginFlow(settings, server)
            if flow == nil { await server.transport.shutdown() }
            return flow
        } catch {
            // A server without the flow may want a password for everything.
            if [.serverUnreachable, .notAuthenticated].contains(error.code) { return nil }
            throw DaemonError(error.message)
        }
    }

    /// Nil: the server has no such flow (ownCloud).
    private init?(_ settings: AccountSettings, _ server: CloudServer) async throws(FileProviderError) {
        let place = server.page("index.php/login/v2")
        let (status, answer) = try await server.ask(HTTPRequest("POST", place, retries: .always))
        let poll = answer["poll"] as? [String: Any]
        guard status == 200, let endpoint = poll?["endpoint"] as? String, let token = poll?["token"] as? String,
            let login = answer["login"] as? String
        else { return nil }
        (self.settings, self.server) = (settings, server)
        self.poll = try Self.own(endpoint, server)
        page = try Self.own(login, server).url
        guard !token.isEmpty, token.utf8.count <= 1_000, token.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw FileProviderError(
                .cannotSynchronize, "\(server.base): the server's answer to the sign-in cannot be used")
        }
        self.token = token
    }

    /// A place that the server names: on itself, or the password might go to somebody else.
    private static func own(_ text: String, _ server: CloudServer) throws(FileProviderError) -> HTTPLocation {
        guard text.utf8.count <= 4_000, text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
            let place = HTTPLocation(text)
        else {
            throw FileProviderError(.cannotSynchronize, "\(server.base): the server names no page for the sign-in")
        }
        guard place.origin == server.base.origin else {
            throw FileProviderError(
                .cannotSynchronize,
                "\(server.base): the server names a page on \(place.origin) for the sign-in; give the domain that URL if it "
                    + "is the same server, or sign in with a user name and an app password")
        }
        return place
    }

    /// Waits for the user, and takes what the server gives then. Ends when its task is cancelled.
    ///
    /// - Throws: for people.
    package func wait(within limit: Duration = LoginFlow.patience) async throws(DaemonError) -> Grant {
        let result = await outcome(within: limit)
        await server.transport.shutdown()
        do throws(FileProviderError) { return try result.get() } catch { throw DaemonError(error.message) }
    }

    /// The user does not sign in.
    package func giveUp() async { await server.transport.shutdown() }

    private func outcome(within limit: Duration) async -> Result<Grant, FileProviderError> {
        let end = ContinuousClock.now + limit
        let body = "token=" + PercentCoding.encode(token.utf8)
        let headers = [("Content-Type", "application/x-www-form-urlencoded")]
        while ContinuousClock.now < end {
            do throws(FileProviderError) {
                let (status, answer) = try await server.ask(
                    HTTPRequest("POST", poll, headers: headers, body: .bytes(Array(body.utf8)), retries: .never))
                if status == 200 { return .success(try await grant(answer)) }
                // 404: not yet.
                guard status == 404 || status >= 500 else {
                    throw FileProviderError(
                        .cannotSynchronize,
                        "\(server.base): the server answers \(status) to the question for the sign-in")
                }
            } catch {
                // The server may be restarting.
                guard error.code == .serverUnreachable else { return .failure(error) }
            }
            do { try await Task.sleep(for: Self.pause) } catch {
                return .failure(FileProviderError(.cancelled, "the sign-in was given up"))
            }
        }
        return .failure(
            FileProviderError(
                .notAuthenticated, "\(server.base): nobody signed in on the page in time; run the command again"))
    }

    private func grant(_ answer: [String: Any]) async throws(FileProviderError) -> Grant {
        guard let user = answer["loginName"] as? String, let password = answer["appPassword"] as? String,
            (1...255).contains(user.utf8.count), (1...1_000).contains(password.utf8.count), !user.contains(":"),
            (user + password).unicodeScalars.allSatisfy({ $0.value > 31 && $0.value != 127 })
        else {
            throw FileProviderError(
                .cannotSynchronize, "\(server.base): the server's answer to the sign-in cannot be used")
        }
        var grant = Grant(user: user, password: Secret(password), url: settings.url)
        guard !settings.url.contains("/remote.php/") else { return grant }
        do throws(FileProviderError) {
            // A user may sign in with an address; the folder has the user's identifier.
            let own = try CloudServer(settings, .basic(user: user, password: grant.password))
            let place = own.page("ocs/v2.php/cloud/user", query: "format=json")
            let (_, body) = try await own.ask(
                HTTPRequest("GET", place, headers: [("OCS-APIRequest", "true")], retries: .always))
            await own.transport.shutdown()
            let identifier = CloudServer.data(body)["id"] as? String ?? user
            let names = ["remote.php", "dav", "files", identifier].map { Array($0.utf8) }
            guard Filename(identifier).problem == nil else {
                throw FileProviderError(
                    .cannotSynchronize, "\(server.base): the server's answer about the user cannot be used")
            }
            grant.url = HTTPLocation(origin: own.base.origin, components: own.base.components + names).url
            return grant
        } catch {
            _ = try? await AppPassword.revoke(settings, user: user, grant.password)
            throw error
        }
    }
}

/// An app password that the server gave Hydrant.
package enum AppPassword {
    /// Revokes it. On return the server does not accept it any more.
    ///
    /// - Throws: why it may still be good, for people.
    ///
    /// Source: docs.nextcloud.com, developer manual, Login Flow, "Deleting an app password".
    package static func revoke(
        _ settings: AccountSettings, user: String, _ password: Secret
    ) async throws(DaemonError) {
        do throws(FileProviderError) {
            let server = try CloudServer(settings, .basic(user: user, password: password), isPatient: false)
            let request = HTTPRequest(
                "DELETE", server.page("ocs/v2.php/core/apppassword"), headers: [("OCS-APIRequest", "true")],
                retries: .never)
            let result: Result<Int, FileProviderError>
            do throws(FileProviderError) { result = .success(try await server.ask(request).status) } catch {
                // It is revoked already.
                result = error.code == .notAuthenticated ? .success(200) : .failure(error)
            }
            await server.transport.shutdown()
            let status = try result.get()
            guard status == 200 else {
                throw FileProviderError(.cannotSynchronize, "\(server.base): the server answers \(status)")
            }
        } catch { throw DaemonError(error.message) }
    }
}
