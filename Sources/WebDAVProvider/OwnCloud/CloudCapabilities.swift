import FileProvider
import Foundation
import HTTPTransport

/// What a Nextcloud says of itself: its rules for names, and the apps that concern us. Asked once.
///
/// Source: docs.nextcloud.com, developer manual, OCS API, capabilities; the apps notify_push and files_lock.
struct CloudCapabilities: Sendable, Equatable {
    var names = CloudNameRules()
    /// The app files_lock: users, and programs for them, lock documents.
    var hasLocks = false
    /// The WebSocket of the app notify_push; nil: none.
    var push: HTTPLocation?

    /// - Returns: nothing beyond the defaults where the server does not say, as ownCloud.
    /// - Throws: when the server does not answer, cannot do so just now, or takes no password.
    static func ask(_ cloud: CloudPlaces, _ client: DAVClient) async throws(FileProviderError) -> CloudCapabilities {
        let place = cloud.page(["ocs", "v2.php", "cloud", "capabilities"], query: "format=json")
        let request = HTTPRequest("GET", place, headers: [("OCS-APIRequest", "true")], retries: .always)
        let bytes = try await client.transport.exchange(request) { reply in
            let bytes = try await reply.prefix(mostBytes + 1)
            if [408, 429].contains(reply.status) || reply.status >= 500 && reply.status != 501 {
                throw FileProviderError(
                    .serverUnreachable, "\(place.origin): cannot say just now what it can do (\(reply.status))")
            }
            return reply.status == 200 && reply.encoding == nil && bytes.count <= mostBytes ? bytes : []
        }
        return CloudCapabilities(bytes, cloud)
    }

    private static let mostBytes = 1 << 20

    /// - Parameter json: the answer; what it does not have, or has in another form, is left out.
    init(_ json: [UInt8], _ cloud: CloudPlaces) {
        let answer = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        let data = (answer?["ocs"] as? [String: Any])?["data"] as? [String: Any]
        guard let all = data?["capabilities"] as? [String: Any] else { return }
        if let files = all["files"] as? [String: Any] {
            names = CloudNameRules(files)
            hasLocks = files["locking"] is String
        }
        let push = (all["notify_push"] as? [String: Any])?["endpoints"] as? [String: Any]
        if let text = push?["websocket"] as? String { self.push = Self.socket(text, cloud) }
    }

    init() {}

    /// The socket's path on the server that the user named: the password goes to no other, and a server may know itself
    /// by another name than we do.
    private static func socket(_ text: String, _ cloud: CloudPlaces) -> HTTPLocation? {
        guard text.utf8.count <= 2_000, text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
            let scheme = ["wss://": "https://", "ws://": "http://"].first(where: { text.lowercased().hasPrefix($0.key) }
            ),
            let place = HTTPLocation(scheme.value + text.dropFirst(scheme.key.count)), place.query == nil
        else { return nil }
        return HTTPLocation(origin: cloud.service.origin, components: place.components, isFolder: place.isFolder)
    }
}
