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
        let names = Self.withoutPage(location).components
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

    /// The URL without the page of a Nextcloud that a browser shows: `…/index.php/apps/files/`, or `…/apps/files/`.
    static func withoutPage(_ location: HTTPLocation) -> HTTPLocation {
        let names = location.components.map { String(decoding: $0, as: UTF8.self) }
        let end = names.indices.first { index in
            let next = names.dropFirst(index + 1).first
            return names[index] == "index.php" && [nil, "apps", "login"].contains(next)
                || names[index] == "apps" && ["files", "dashboard"].contains(next)
        }
        guard let end else { return location }
        return HTTPLocation(origin: location.origin, components: Array(location.components[..<end]))
    }

    /// - Throws: when the server's answer says nothing of what it is: it is being updated, say.
    func checkIsWell(_ status: Int) throws(FileProviderError) {
        if [408, 429].contains(status) || status >= 500 && status != 501 {
            throw FileProviderError(.serverUnreachable, "\(base): cannot answer just now (\(status))")
        }
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
        /// The user's identifier on the server; nil: nobody asked for it.
        package var identifier: String?
    }

    package enum Beginning: Sendable {
        case flow(LoginFlow)
        /// The server is no Nextcloud.
        case noFlow
        /// Nobody knows: why, for people.
        case unreachable(String)
    }

    /// The server keeps the page for as long.
    package static let patience = Duration.seconds(20 * 60)
    private static let pause = Duration.seconds(1)
    /// For an answer that is under way when the user gives up.
    private static let grace = Duration.seconds(3)

    /// - Throws: when the server's answer cannot be trusted: for people.
    package static func begin(_ settings: AccountSettings) async throws(DaemonError) -> Beginning {
        do throws(FileProviderError) {
            let server = try CloudServer(settings)
            let result: Result<LoginFlow?, FileProviderError>
            do throws(FileProviderError) { result = .success(try await find(settings, server)) } catch {
                result = .failure(error)
            }
            if case .success(.some(let flow)) = result { return .flow(flow) }
            await server.transport.shutdown()
            _ = try result.get()
            return .noFlow
        } catch {
            switch error.code {
            case .serverUnreachable: return .unreachable(error.message)
            // A server without the flow may want a password for everything.
            case .notAuthenticated: return .noFlow
            default: throw DaemonError(error.message)
            }
        }
    }

    private static func find(
        _ settings: AccountSettings, _ server: CloudServer
    ) async throws(FileProviderError) -> LoginFlow? {
        let (status, answer) = try await server.ask(HTTPRequest("GET", server.page("status.php"), retries: .never))
        try server.checkIsWell(status)
        guard status == 200, answer["versionstring"] is String, answer["installed"] as? Bool == true else { return nil }
        return try await LoginFlow(settings, server)
    }

    /// Nil: the server has no such flow (ownCloud).
    private init?(_ settings: AccountSettings, _ server: CloudServer) async throws(FileProviderError) {
        let place = server.page("index.php/login/v2")
        let (status, answer) = try await server.ask(HTTPRequest("POST", place, retries: .always))
        try server.checkIsWell(status)
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
        var mayBeLost = false
        while ContinuousClock.now < end {
            switch await ask() {
            case .success(let answer) where answer.status == 200: return grant(answer)
            // 404: not yet.
            case .success(let answer) where answer.status == 404 || answer.status >= 500: break
            case .success(let answer):
                return .failure(
                    FileProviderError(
                        .cannotSynchronize,
                        "\(server.base): the server answers \(answer.status) to the question for the sign-in"))
            case .failure(let error):
                // The server may be restarting.
                guard error.code == .serverUnreachable else { return .failure(error) }
                mayBeLost = true
            }
            do { try await Task.sleep(for: Self.pause) } catch {
                return .failure(FileProviderError(.cancelled, "the sign-in was given up"))
            }
        }
        let what =
            mayBeLost
            ? "no sign-in arrived in time, but an answer of the server was lost: if you granted the access, \(Self.byHand), "
                + "and run the command again" : "nobody signed in on the page in time; run the command again"
        return .failure(FileProviderError(.notAuthenticated, "\(server.base): \(what)"))
    }

    /// For people.
    private static let byHand = "remove Hydrant's app password there (Settings, Security, Devices & sessions)"

    private struct Answer: Sendable {
        var status: Int
        var user: String?
        var password: Secret?
    }

    /// The server gives the password only once, so a task that is cancelled meanwhile still takes it.
    private func ask() async -> Result<Answer, FileProviderError> {
        let asking = Task { () async -> Result<Answer, FileProviderError> in
            let body = "token=" + PercentCoding.encode(token.utf8)
            let headers = [("Content-Type", "application/x-www-form-urlencoded")]
            do throws(FileProviderError) {
                let (status, answer) = try await server.ask(
                    HTTPRequest("POST", poll, headers: headers, body: .bytes(Array(body.utf8)), retries: .once))
                return .success(
                    Answer(
                        status: status, user: answer["loginName"] as? String,
                        password: (answer["appPassword"] as? String).map { Secret($0) }))
            } catch { return .failure(error) }
        }
        return await withTaskCancellationHandler {
            await asking.value
        } onCancel: {
            Task {
                try? await Task.sleep(for: Self.grace)
                asking.cancel()
            }
        }
    }

    private func grant(_ answer: Answer) -> Result<Grant, FileProviderError> {
        guard let password = answer.password, (1...1_000).contains(password.revealed.utf8.count),
            Self.isPlain(password.revealed)
        else {
            return .failure(
                FileProviderError(
                    .cannotSynchronize,
                    "\(server.base): the server's answer to the sign-in cannot be used; \(Self.byHand)"))
        }
        return .success(Grant(user: answer.user ?? "", password: password, url: settings.url))
    }

    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value > 31 && $0.value != 127 }
    }

    /// Finds out whose the grant is. If that fails, revoke it.
    ///
    /// - Throws: for people.
    package func complete(_ grant: Grant) async throws(DaemonError) -> Grant {
        guard (1...255).contains(grant.user.utf8.count), !grant.user.contains(":"), Self.isPlain(grant.user) else {
            throw DaemonError("\(server.base): the server's answer to the sign-in cannot be used")
        }
        let isNamed = settings.url.contains("/remote.php/")
        guard !isNamed || settings.user != nil && settings.user != grant.user else { return grant }
        var grant = grant
        do throws(FileProviderError) {
            // A user may sign in with an address; the folder has the user's identifier.
            let own = try CloudServer(settings, .basic(user: grant.user, password: grant.password))
            let result: Result<String, FileProviderError>
            do throws(FileProviderError) { result = .success(try await own.user()) } catch { result = .failure(error) }
            await own.transport.shutdown()
            let identifier = try result.get()
            grant.identifier = identifier
            if isNamed { return grant }
            let names = ["remote.php", "dav", "files", identifier].map { Array($0.utf8) }
            grant.url = HTTPLocation(origin: own.base.origin, components: own.base.components + names).url
            return grant
        } catch { throw DaemonError(error.message) }
    }

    /// Whether the grant is for the user of the domain, under this or another login name.
    package func isForDomain(_ grant: Grant) -> Bool {
        guard let user = settings.user, grant.user != user else { return true }
        guard let identifier = grant.identifier else { return false }
        // (A URL without the user's identifier leads to the documents of whoever signs in.)
        return identifier == CloudServer.user(in: settings.url) ?? user
    }
}

extension CloudServer {
    /// The identifier of the user who signs in.
    fileprivate func user() async throws(FileProviderError) -> String {
        let place = page("ocs/v2.php/cloud/user", query: "format=json")
        let (status, body) = try await ask(
            HTTPRequest("GET", place, headers: [("OCS-APIRequest", "true")], retries: .always))
        guard status == 200, let identifier = Self.data(body)["id"] as? String, Filename(identifier).problem == nil
        else {
            throw FileProviderError(
                .cannotSynchronize, "\(base): the server does not say who has signed in (\(status)); try again")
        }
        return identifier
    }

    /// The user whose folder has this URL; nil: it names none.
    fileprivate static func user(in url: String) -> String? {
        let names = (try? AccountURL.parse(url).location.components)?.map { String(decoding: $0, as: UTF8.self) } ?? []
        guard let start = names.firstIndex(of: "remote.php"), names.count > start + 3,
            names[start + 1] == "dav", names[start + 2] == "files"
        else { return nil }
        return names[start + 3]
    }
}

/// An app password that the server gave Hydrant.
package enum AppPassword {
    /// Revokes it. On return the server does not accept it any more.
    ///
    /// - Parameter isNew: the server has just given it: if it does not accept it, something else is wrong than that it is
    ///   revoked already.
    /// - Throws: why it may still be good, for people.
    ///
    /// Source: docs.nextcloud.com, developer manual, Login Flow, "Deleting an app password".
    package static func revoke(
        _ settings: AccountSettings, user: String, _ password: Secret, isNew: Bool = false
    ) async throws(DaemonError) {
        do throws(FileProviderError) {
            let server = try CloudServer(settings, .basic(user: user, password: password), isPatient: false)
            let request = HTTPRequest(
                "DELETE", server.page("ocs/v2.php/core/apppassword"), headers: [("OCS-APIRequest", "true")],
                retries: .never)
            let result: Result<Int, FileProviderError>
            do throws(FileProviderError) { result = .success(try await server.ask(request).status) } catch {
                // It is revoked already.
                result = error.code == .notAuthenticated && !isNew ? .success(200) : .failure(error)
            }
            await server.transport.shutdown()
            let status = try result.get()
            guard status == 200 else {
                throw FileProviderError(.cannotSynchronize, "\(server.base): the server answers \(status)")
            }
        } catch { throw DaemonError(error.message) }
    }
}
