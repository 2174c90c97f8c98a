import FileProvider
import HTTPTransport
import Hashing
import Logging
import Surroundings

/// A large document on its way to ownCloud or Nextcloud in parts, which the server puts together at the end: parts that
/// have arrived need not be sent again, and the old version stays whole until the new one is complete.
///
/// Source: docs.nextcloud.com, developer manual, WebDAV, chunked upload v2: parts of 5 MB or more but for the last, numbered
/// from 1 to 10,000, kept for 24 hours.
struct ChunkedUpload {
    let client: DAVClient
    let uploads: HTTPLocation
    let contents: any ContentSource
    let target: HTTPLocation
    let name: Filename
    /// Headers about the whole: checksum, date, and the condition under which it replaces its target.
    let headers: [(name: String, value: String)]
    let checksum: String
    let logger: Logger

    private static let smallest: Int64 = 10 << 20
    private static let mostParts: Int64 = 9_000

    private var partSize: Int64 {
        let needed = (contents.size + Self.mostParts - 1) / Self.mostParts
        // (Whole MiB.)
        return max(Self.smallest, (needed / (1 << 20) + 1) << 20)
    }

    /// The same for the same contents at the same place, so that another attempt finds the parts that have arrived.
    private var folder: HTTPLocation {
        let text = "\(target.path) \(checksum) \(contents.size)"
        let name = "hydrant-" + SHA256.hash(data: Array(text.utf8)).prefix(16).hexadecimal
        return uploads.appending(Array(name.utf8), isFolder: true)
    }

    /// - Returns: the outcome of the last step; 404: the server takes no parts.
    func run() async throws(FileProviderError) -> DAVClient.Outcome {
        for isLast in [false, true] {
            guard let arrived = try await begin() else { return DAVClient.Outcome(status: 404) }
            guard let refusal = try await sendParts(arrived) else { break }
            // The server has just deleted the parts, a day after the upload began.
            if refusal.status != 404 || isLast { return refusal }
        }
        let outcome = try await client.send(
            HTTPRequest(
                "MOVE", folder.appending(Array(".file".utf8)), headers: headers + about, isTransfer: true))
        // The parts are of no use any more, or do not fit together.
        if outcome.status == 400 || outcome.status == 412 {
            _ = try? await client.send(HTTPRequest("DELETE", folder))
        }
        return outcome
    }

    private var about: [(name: String, value: String)] {
        [("Destination", client.destination(target)), ("OC-Total-Length", "\(contents.size)")]
    }

    /// - Returns: the sizes of the parts that have arrived; nil: the server takes none.
    private func begin() async throws(FileProviderError) -> [String: Int64]? {
        var arrived: [String: Int64] = [:]
        let wanted: [DAVProperty] = [.resourceType, .contentLength, .lastModified]
        let isThere = try await client.list(folder, .children, wanted) { responses in
            for response in responses where !response.isFolder {
                let name = response.href.split(separator: "/").last.map(String.init) ?? ""
                arrived[name] = response.properties[.contentLength].flatMap { Int64($0) }
            }
        }
        if isThere {
            logger.debug("an upload goes on", metadata: ["item": "\(name)", "parts": "\(arrived.count)"])
            return arrived
        }
        let made = try await client.send(
            HTTPRequest("MKCOL", folder, headers: [("Destination", client.destination(target))]))
        return made.isSuccess ? [:] : nil
    }

    /// - Returns: nil: all parts are there; else the outcome of the one that was refused.
    private func sendParts(_ arrived: [String: Int64]) async throws(FileProviderError) -> DAVClient.Outcome? {
        var number = 1
        var start: Int64 = 0
        while start < contents.size {
            let end = min(start + partSize, contents.size)
            let digits = "\(number)"
            let part = String(repeating: "0", count: 5 - digits.count) + digits
            if arrived[part] != end - start {
                let outcome = try await client.send(
                    HTTPRequest(
                        "PUT", folder.appending(Array(part.utf8)), headers: about,
                        body: .content(contents, start..<end), isTransfer: true, retries: .always))
                guard outcome.isSuccess else { return outcome }
            }
            (start, number) = (end, number + 1)
        }
        return nil
    }
}
