import FileProvider
import HTTPTransport

/// An exclusive write lock on one place (RFC 4918, 6 and 9.10), for the moment in which something is put there: between a
/// server's look at a condition and what it then does, somebody else may come in.
struct WriteLock: Sendable {
    private let token: String
    private let location: HTTPLocation
    private let isAlone: Bool
    /// The server made an empty document to hold the lock.
    let madeDocument: Bool

    /// Seconds after which a server forgets the lock of somebody who has died.
    private static let timeout = 60
    /// Somebody else's lock is waited for so often, and so long each time.
    private static let attempts = 60
    private static let pause = Duration.milliseconds(150)

    /// The header for a change of the place itself, or of what is moved there.
    ///
    /// - Parameter base: which version must be there.
    func condition(_ base: Validator? = nil) -> (name: String, value: String) {
        var state = "<\(token)>"
        if case .tag(let tag)? = base { state += " [\"\(tag)\"]" }
        return ("If", "<\(location.url)> (\(state))")
    }

    /// Nil: the server has no locks, or none for this place; what it thinks of the place, the change itself will tell.
    ///
    /// - Parameter isAlone: no other lock is taken or given back at this server meanwhile: Apache mixes them up.
    /// - Throws: ``FileProviderError/Code/busy`` when somebody else keeps it locked.
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
        throw FileProviderError(.busy, "\(location): is locked by somebody")
    }

    /// A server that is busy may fail, and the lock would keep everybody out until it runs out.
    ///
    /// - Returns: whether it was there until now.
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

    /// Lets go, whatever becomes of the task; nobody need wait for it.
    ///
    /// - Parameter removing: also takes away the document that was made for the lock.
    func release(_ client: DAVClient, removing: Bool = false) async {
        let remove = removing && madeDocument
        let task = Task {
            // Only while it is the empty one.
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
    /// With what shows that these locks are ours.
    func with(_ locks: [WriteLock]) -> HTTPRequest {
        guard !locks.isEmpty else { return self }
        var request = self
        let own = request.headers.first { $0.name == "If" }.map { [$0.value] } ?? []
        request.headers.removeAll { $0.name == "If" }
        request.headers.append(("If", (own + locks.map { $0.condition().value }).joined(separator: " ")))
        return request
    }
}
