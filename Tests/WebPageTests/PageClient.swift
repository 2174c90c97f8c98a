import Foundation
import WebPage

/// The real server, over a folder of documents in place of a mount, and a client that sends any bytes.
struct PageClient: Sendable {
    let port: Int
    let codes: PageCodes
    /// The folder that the page shows, and one beside it that it does not.
    let domain: String
    let outside: String

    struct Reply: CustomStringConvertible {
        var status = 0
        var head = ""
        var body = ""
        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:] }
        var description: String { "\(head)\n\n\(body)" }
    }

    struct Failure: Error { var message: String }

    /// - Parameter body: with a client for the server, which ends afterwards.
    static func with(
        _ bounds: WebServer.Bounds = .init(), _ body: @Sendable (PageClient) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-page-\(UUID().uuidString)"
        let (domain, outside, codes) = (folder + "/domain", folder + "/outside", folder + "/codes")
        for path in [domain, outside, codes] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try await WebServer(codes: PageCodes(folder: codes), bounds: bounds) { [domain] }
        let running = Task { try await server.run() }
        let result: Result<Void, any Error>
        do {
            try await body(
                PageClient(port: server.port, codes: PageCodes(folder: codes), domain: domain, outside: outside))
            result = .success(())
        } catch { result = .failure(error) }
        running.cancel()
        _ = await running.result
        try result.get()
    }

    func token() async throws -> String {
        let reply = try await post("session", ["code": try codes.make()])
        guard let token = reply.json["token"] as? String else { throw Failure(message: "\(reply)") }
        return token
    }

    /// A request as the page sends it, with changes.
    func post(
        _ name: String, _ call: [String: Any], token: String? = nil, _ fields: [String: String?] = [:]
    ) async throws -> Reply {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: call), as: UTF8.self)
        return try await send("POST", "/api/\(name)", token: token, fields, body: body)
    }

    func send(
        _ method: String, _ path: String, token: String? = nil, _ changes: [String: String?] = [:], body: String = ""
    ) async throws -> Reply {
        var fields: [String: String?] = [
            "Host": "127.0.0.1:\(port)", "Connection": "close", "Content-Length": "\(body.utf8.count)",
            "Content-Type": "application/json", "Authorization": token.map { "Bearer \($0)" },
        ]
        for (name, value) in changes { fields[name] = value }
        let lines = fields.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.joined()
        return try await raw("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n\(body)")
    }

    /// Sends these bytes, and reads until the server hangs up.
    func raw(_ text: String) async throws -> Reply {
        let received = try await Self.exchange(port, Array(text.utf8))
        let whole = String(decoding: received, as: UTF8.self)
        guard let end = whole.range(of: "\r\n\r\n") else { return Reply() }
        let head = String(whole[..<end.lowerBound])
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Reply(status: status, head: head, body: String(whole[end.upperBound...]))
    }

    static func connect(_ port: Int) throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(socket)
            throw Failure(message: "connect: \(String(cString: strerror(errno)))")
        }
        return socket
    }

    private static func exchange(_ port: Int, _ bytes: [UInt8]) async throws -> [UInt8] {
        try await onThread {
            let socket = try connect(port)
            defer { close(socket) }
            var rest = bytes[...]
            while !rest.isEmpty {
                // (The server may have answered and hung up before it has all.)
                let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if count <= 0 { break }
                rest = rest.dropFirst(count)
            }
            return receive(socket)
        }
    }

    /// Everything until the server hangs up.
    static func receive(_ socket: Int32) -> [UInt8] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count <= 0 { return received }
            received += buffer.prefix(count)
        }
    }

    static func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Swift.Result { try body() }) }.start()
        }
    }

    /// In the folder that the page shows.
    func write(_ path: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: domain + "/" + path))
    }

    func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: domain).sorted() }

    static func base64(_ path: String) -> String { Data(path.utf8).base64EncodedString() }

    func upload(_ name: String, replace: Bool = false, folder: String = "") -> String {
        var parts = URLComponents()
        parts.queryItems = [
            URLQueryItem(name: "domain", value: domain), URLQueryItem(name: "path", value: Self.base64(folder)),
            URLQueryItem(name: "name", value: name), URLQueryItem(name: "replace", value: replace ? "1" : "0"),
        ]
        return "/api/upload" + (parts.string ?? "")
    }
}
