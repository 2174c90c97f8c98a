import FileProvider
import HTTPTransport

/// An exclusive write lock on one place (RFC 4918, 6 and 9.10), held for a moment: between a server's check of a
/// condition and the change itself, another client may make a change.
struct WriteLock: Sendable {
    private let token: String
    private let location: HTTPLocation
    private let isAlone: Bool
    /// The server made an empty document to hold the lock.
    let madeDocument: Bool

    /// Seconds after which a server drops the lock of a dead client.
    private static let timeout = 60
    /// The number of attempts on a lock of another client, and the pause between them.
    private static let attempts = 60
    private static let pause = Duration.milliseconds(150)

    /// The header for a change of the place itself, or for a move to it.
    ///
    /// - Parameter base: the version that must be there.
    func condition(_ base: Validator? = nil) -> (name: String, value: String) {
        var state = "<\(token)>"
        if case .tag(let tag)? = base { state += " [\"\(tag)\"]" }
        return ("If", "<\(location.url)> (\(state))")
    }

    /// Nil: the server has no locks, or none for this place; the change itself will tell what is wrong with the place.
    ///
    /// - Parameter isAlone: no other lock is taken or given back at this server meanwhile, as Apache mixes them up.
    /// - Throws: ``FileProviderError/Code/busy`` when another client keeps it locked.
    static func take(
        _ location: HTTPLocation, _ client: DAVClient, isAlone: Bool
    ) async throws(FileProviderError) -> WriteLock? {
        let body =
            #"<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>"#
            + "<D:locktype><D:write/></D:locktype><D:owner>Hydrant</D:owner></D:lockinfo>"
        let request = HTTPRequest(
            "LOCK", location,
            headers: [
                ("Depth", "0"), ("Timeout", "Second-\(timeout)"), ("Content-Type", "application/xml; charset=utf-8"),
            ], body: .bytes(Array(body.utf8)))
        for _ in 0..<attempts {
            let outcome = try await isAlone ? client.alone(request) : client.send(request)
            if outcome.status == 200 || outcome.status == 201 {
                guard let token = outcome.lockToken else { return nil }
                return WriteLock(
                    token: token, location: location, isAlone: isAlone, madeDocument: outcome.status == 201)
            }
            guard outcome.isLocked else { return nil }
            do { try await Task.sleep(for: pause) } catch {
                throw FileProviderError(.cancelled, "\(location): given up")
            }
        }
        throw FileProviderError(.busy, "\(location): is locked by another program")
    }

    /// Repeated, as a busy server may fail, and the lock would keep other clients out until it expires.
    ///
    /// - Returns: whether the lock still existed.
    @discardableResult
    func unlock(_ client: DAVClient) async -> Bool {
        let request = HTTPRequest("UNLOCK", location, headers: [("Lock-Token", "<\(token)>")])
        for attempt in 1...5 {
            let outcome = try? await isAlone ? client.alone(request) : client.send(request)
            if let outcome, outcome.status < 500, outcome.status != 429 { return outcome.isSuccess }
            try? await Task.sleep(for: Self.pause * attempt)
        }
        return false
    }

    /// Gives the lock back, even if the task is cancelled; the caller need not wait.
    ///
    /// - Parameter removing: also deletes the document that was made for the lock.
    func release(_ client: DAVClient, removing: Bool = false) async {
        let remove = removing && madeDocument
        let task = Task {
            // Only while it is still the empty one.
            if remove, let resource = try? await client.resource(location), resource.size == 0, !resource.isFolder {
                let headers = [condition(), resource.validator.condition]
                _ = try? await client.send(HTTPRequest("DELETE", location, headers: headers))
            }
            await unlock(client)
        }
        if remove { await task.value }
    }
}

extension HTTPRequest {
    /// The request with the tokens of these locks.
    func with(_ locks: [WriteLock]) -> HTTPRequest {
        guard !locks.isEmpty else { return self }
        var request = self
        let own = request.headers.first { $0.name == "If" }.map { [$0.value] } ?? []
        request.headers.removeAll { $0.name == "If" }
        request.headers.append(("If", (own + locks.map { $0.condition().value }).joined(separator: " ")))
        return request
    }
}
