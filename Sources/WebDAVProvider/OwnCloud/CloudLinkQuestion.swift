import FileProvider
import Foundation
import HTTPTransport

/// Questions about the public links of one item.
struct LinkQuestion: Sendable {
    let client: DAVClient
    let links: HTTPLocation
    /// From the user's topmost folder on.
    let path: String
    let name: Filename

    // MARK: A new link

    /// Makes a link. Takes it back if the server made another one than was asked for, and when the caller's task is
    /// cancelled meanwhile.
    func make(_ terms: LinkTerms, isFolder: Bool) async throws(FileProviderError) -> SharedLink {
        // (A server whose answers cannot be read makes no link.)
        let before = Set(try await list().map(\.id))
        // In a task of its own: of a request that is given up nobody knows what became.
        let making = Task { () async -> Result<SharedLink, FileProviderError> in
            do throws(FileProviderError) { return .success(try await make(terms, isFolder, before)) } catch {
                return .failure(error)
            }
        }
        let link = try await making.value.get()
        guard Task.isCancelled else { return link }
        let problem = await endSurely(link.identifier)
        throw FileProviderError(.cancelled, "“\(name)”: the request was given up; \(problem ?? "no link was made")")
    }

    private func make(
        _ terms: LinkTerms, _ isFolder: Bool, _ before: Set<String>
    ) async throws(FileProviderError) -> SharedLink {
        let rights =
            terms.allowsEditing ? (isFolder ? CloudShare.toEditFolder : CloudShare.toEditDocument) : CloudShare.toRead
        var fields = [("path", path), ("shareType", "3"), ("permissions", "\(rights)")]
        if terms.allowsEditing, isFolder { fields.append(("publicUpload", "true")) }
        if let password = terms.password { fields.append(("password", password)) }
        let day = terms.until.map { CloudDay.text($0) }
        if let day { fields.append(("expireDate", day)) }
        var share = try await post(fields, before)
        do throws(FileProviderError) {
            if terms.allowsEditing != share.allowsChanges {
                share = try await send("PUT", place(share.id), [("permissions", "\(rights)")])
            }
            if let problem = problem(share, terms, day) {
                throw FileProviderError(.unsupported, "“\(name)”: \(problem)")
            }
        } catch {
            // A link with other terms must not stay.
            var error = error
            error.message += "; \(await endSurely(share.id) ?? "no link was made")"
            throw error
        }
        guard let link = share.link else { throw noLink(share.id) }
        return link
    }

    /// Why this is not the link that was asked for.
    private func problem(_ share: CloudShare, _ terms: LinkTerms, _ day: String?) -> String? {
        if terms.allowsEditing, !share.allowsEditing { return "the server allows no changes with a link" }
        if !terms.allowsEditing, share.allowsChanges {
            return "the server allows changes with every link; add --edit if they may be made"
        }
        if terms.password != nil, !share.hasPassword { return "the server sets no password" }
        if let day, share.day.map({ $0 > day }) ?? true {
            return "the server lets the link end only on \(share.day ?? "no day")"
        }
        guard let link = share.link else { return "the server made no link" }
        return link.problem
    }

    /// Asks for a link once: each request that arrives makes one. Without an answer that tells of it, ends what the
    /// request made.
    ///
    /// - Parameter before: the links that the item had.
    private func post(
        _ fields: [(String, String)], _ before: Set<String>
    ) async throws(FileProviderError) -> CloudShare {
        let outcome: Result<(Int, [UInt8]), FileProviderError>
        do throws(FileProviderError) {
            outcome = .success(try await exchange("POST", place(), fields, retries: .once))
        } catch { outcome = .failure(error) }
        switch outcome {
        case .success((let status, let answer)) where 400..<500 ~= status && status != 408:
            throw refusal(status, answer, "POST")
        case .failure(let error) where error.code == .notAuthenticated: throw error
        default: break
        }
        do throws(FileProviderError) {
            let (status, answer) = try outcome.get()
            return try value(status, answer, "POST")
        } catch {
            var error = error
            error.message += "; \(await takeBack(before))"
            throw error
        }
    }

    private static let maybe = "a link may have been made, hydrant share --list shows it"

    /// - Returns: what became of the request, for people.
    private func takeBack(_ before: Set<String>) async -> String {
        do throws(FileProviderError) {
            let new = try await list().map(\.id).filter { !before.contains($0) }
            for id in new { if let problem = await endSurely(id) { return problem } }
            return new.isEmpty ? Self.maybe : "the link that was made is ended"
        } catch { return Self.maybe }
    }

    /// Ends a link also in a cancelled task.
    ///
    /// - Returns: why it may be there still, for people.
    private func endSurely(_ id: String) async -> String? {
        await Task { () async -> String? in
            do throws(FileProviderError) { try await end(id) } catch {
                if error.code == .noSuchItem { return nil }
                return "link \(id) was made and could not be ended (\(error.message)); end it with hydrant share --end"
            }
            return nil
        }.value
    }

    // MARK: The links there are

    /// The public links among the item's shares.
    func list() async throws(FileProviderError) -> [CloudShare] {
        let query = "&path=\(PercentCoding.encode(path.utf8))&reshares=false"
        let all: [CloudShare] = try await send("GET", place(query: query), [])
        return all.filter(\.isLink)
    }

    func end(_ id: String) async throws(FileProviderError) {
        let (status, answer) = try await exchange("DELETE", place(id), [], retries: .always)
        if status == 404 { throw noLink(id) }
        guard status == 200 else { throw refusal(status, answer, "DELETE") }
    }

    func noLink(_ id: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "“\(name)”: has no link \(id)")
    }

    // MARK: Requests

    /// (ownCloud answers in JSON only to this query.)
    private func place(_ id: String? = nil, query: String = "") -> HTTPLocation {
        HTTPLocation(
            origin: links.origin, components: links.components + (id.map { [Array($0.utf8)] } ?? []), isFolder: false,
            query: "format=json" + query)
    }

    private static let headers = [("OCS-APIRequest", "true"), ("Accept", "application/json")]
    /// In bytes.
    private static let largestAnswer = 4 << 20

    private struct Answer<Value: Decodable>: Decodable {
        struct Body: Decodable { var data: Value }
        var ocs: Body
    }

    private struct Failure: Decodable {
        struct Body: Decodable {
            struct Meta: Decodable { var message: String? }
            var meta: Meta
        }
        var ocs: Body
    }

    private func exchange(
        _ method: String, _ place: HTTPLocation, _ fields: [(String, String)], retries: HTTPRequest.Retries
    ) async throws(FileProviderError) -> (Int, [UInt8]) {
        var request = HTTPRequest(method, place, headers: Self.headers, retries: retries)
        if !fields.isEmpty {
            let body = fields.map { "\($0)=\(PercentCoding.encode($1.utf8))" }.joined(separator: "&")
            request.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
            request.body = .bytes(Array(body.utf8))
        }
        return try await client.transport.exchange(request) { reply in
            (reply.status, try await reply.prefix(Self.largestAnswer))
        }
    }

    private func send<Value: Decodable>(
        _ method: String, _ place: HTTPLocation, _ fields: [(String, String)]
    ) async throws(FileProviderError) -> Value {
        let (status, answer) = try await exchange(method, place, fields, retries: .always)
        return try value(status, answer, method)
    }

    private func value<Value: Decodable>(
        _ status: Int, _ answer: [UInt8], _ method: String
    ) throws(FileProviderError) -> Value {
        guard status == 200 else { throw refusal(status, answer, method) }
        do { return try JSONDecoder().decode(Answer<Value>.self, from: Data(answer)).ocs.data } catch {
            throw FileProviderError(
                .unsupported,
                "“\(name)”: the server's answer about links cannot be read; are shares switched off there?")
        }
    }

    private func refusal(_ status: Int, _ answer: [UInt8], _ method: String) -> FileProviderError {
        var reason = (try? JSONDecoder().decode(Failure.self, from: Data(answer)))?.ocs.meta.message ?? ""
        if reason.hasSuffix(".") { reason.removeLast() }
        if !reason.isEmpty { reason = ": " + reason.prefix(500) }
        switch (status, method) {
        case (400, "GET"), (404, "GET"):
            return FileProviderError(
                .unsupported,
                "“\(name)”: the server lists no links of it (\(status))\(reason); is the app files_sharing missing there?"
            )
        case (400, _), (404, _):
            return FileProviderError(.unsupported, "“\(name)”: the server makes no such link (\(status))\(reason)")
        case (403, _):
            return FileProviderError(.permissionDenied, "“\(name)”: the server does not allow this (403)\(reason)")
        default:
            return HTTPFailure.error(status: status, "“\(name)”", links.origin)
                ?? FileProviderError(.cannotSynchronize, "“\(name)”: the server answers \(status)\(reason)")
        }
    }
}
