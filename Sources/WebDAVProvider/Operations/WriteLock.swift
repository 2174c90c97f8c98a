import FileProvider
import HTTPTransport

/// An exclusive write lock on one place (RFC 4918, 6 and 9.10), for the moment in which something is put there: between a
/// server's look at a condition and what it then does, somebody else may come in.
struct WriteLock: Sendable {
    private let token: String
    private let location: HTTPLocation
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
    /// - Throws: ``FileProviderError/Code/busy`` when somebody else keeps it locked.
    static func take(_ location: HTTPLocation, _ client: DAVClient) async throws(FileProviderError) -> WriteLock? {
        let body =
            #"<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>"#
            + "<D:locktype><D:write/></D:locktype><D:owner>Hydrant</D:owner></D:lockinfo>"
        let request = HTTPRequest(
            "LOCK", location,
            headers: [
                ("Depth", "0"), ("Timeout", "Second-\(timeout)"), ("Content-Type", "application/xml; charset=utf-8"),
            ], body: .bytes(Array(body.utf8)))
        for _ in 0..<attempts {
            let outcome = try await client.send(request)
            switch outcome.status {
            case 200, 201:
                guard let token = outcome.lockToken else { return nil }
                return WriteLock(token: token, location: location, madeDocument: outcome.status == 201)
            case 423:
                do { try await Task.sleep(for: pause) } catch {
                    throw FileProviderError(.cancelled, "\(location): given up")
                }
            default: return nil
            }
        }
        throw FileProviderError(.busy, "\(location): is locked by somebody")
    }

    /// A server that is busy may fail, and the lock would keep everybody out until it runs out.
    private static func unlock(_ request: HTTPRequest, _ client: DAVClient) async {
        for attempt in 1...5 {
            if let outcome = try? await client.send(request), outcome.status < 500, outcome.status != 429 { return }
            try? await Task.sleep(for: pause * attempt)
        }
    }

    /// Lets go, whatever becomes of the task; nobody need wait for it.
    ///
    /// - Parameter removing: also takes away the document that was made for the lock.
    func release(_ client: DAVClient, removing: Bool = false) async {
        let unlock = HTTPRequest("UNLOCK", location, headers: [("Lock-Token", "<\(token)>")])
        let remove = removing && madeDocument
        let task = Task {
            // Only while it is the empty one.
            if remove, let resource = try? await client.resource(location), resource.size == 0, !resource.isFolder {
                let headers = [condition(), resource.validator.condition]
                _ = try? await client.send(HTTPRequest("DELETE", location, headers: headers))
            }
            await Self.unlock(unlock, client)
        }
        if remove { await task.value }
    }
}
