import FileProvider
import Foundation
import Glibc
import HTTPTransport
import Logging
import MountHarness
import Synchronization
import Testing

@testable import S3Provider

/// What is listened to, and what is made of it. (With a server that sends notifications: MountTests.)
@Suite("S3: messages of a server")
struct NotificationTests {
    private static func withServer(
        _ body: (S3NotificationAddress, HTTPTransport, () -> [[UInt8]]) async throws -> Void
    ) async throws {
        let address = try S3NotificationAddress("http://127.0.0.1:\(FreePort.find())")
        let got = Messages()
        let server = try await S3NotificationServer(address, token: "secret-1") { got.add($0) }
        let transport = try HTTPTransport(
            settings: HTTPSettings(), credentials: FixedCredential(nil),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let result: Result<Void, any Error>
        do { result = .success(try await body(address, transport, { got.all })) } catch { result = .failure(error) }
        await transport.shutdown()
        await server.end()
        try result.get()
    }

    private final class Messages: Sendable {
        private let messages = Mutex<[[UInt8]]>([])
        func add(_ message: [UInt8]) { messages.withLock { $0.append(message) } }
        var all: [[UInt8]] { messages.withLock { $0 } }
    }

    private static func send(
        _ transport: HTTPTransport, _ method: String, _ url: String, _ body: [UInt8]
    ) async throws -> Int {
        let location = try #require(HTTPLocation(url))
        return try await transport.exchange(HTTPRequest(method, location, body: .bytes(body))) { $0.status }
    }

    @Test("only a message to the path with the token counts")
    func tokens() async throws {
        try await Self.withServer { (address, transport, got) async throws in
            let text = Array("{}".utf8)
            #expect(try await Self.send(transport, "POST", address.url("secret-1"), text) == 200)
            #expect(got() == [text])
            for path in ["secret-2", "", "secret-1/", "secret-1?x", "secret"] {
                #expect(try await Self.send(transport, "POST", address.url(path), text) == 404, "\(path)")
            }
            #expect(try await Self.send(transport, "PUT", address.url("secret-1"), text) == 405)
            #expect(got() == [text])
        }
    }

    @Test("a message that is too long is refused, and the next one is taken")
    func sizes() async throws {
        try await Self.withServer { (address, transport, got) async throws in
            let long = [UInt8](repeating: 32, count: S3NotificationServer.longestMessage + 1)
            let status = try? await Self.send(transport, "POST", address.url("secret-1"), long)
            // (The connection may end while the rest is still being sent.)
            #expect(status == nil || status == 413)
            let most = [UInt8](repeating: 32, count: S3NotificationServer.longestMessage)
            #expect(try await Self.send(transport, "POST", address.url("secret-1"), most) == 200)
            #expect(got() == [most])
        }
    }

    /// Seconds.
    private static func isClosed(_ socket: Int32, within seconds: Int) -> Bool {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, 0)
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    private static func write(_ bytes: [UInt8], to socket: Int32) -> Bool {
        bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } == bytes.count
    }

    private static func connected(_ address: S3NotificationAddress) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = FreePort.loopback(UInt16(address.port))
        let isConnected = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw HarnessError("no connection") }
        return descriptor
    }

    @Test("a client that sends a byte now and then does not keep its connection, and none outlives the server")
    func slowClients() async throws {
        let address = try S3NotificationAddress("http://127.0.0.1:\(FreePort.find())")
        let server = try await S3NotificationServer(address, token: "x", longest: 2) { _ in }
        let slow = try Self.connected(address)
        defer { close(slow) }
        var isOpen = true
        for byte in Array("POST /x HTTP/1.1\r\nHost: here\r\nX-Filler: 0123456789".utf8) where isOpen {
            isOpen = Self.write([byte], to: slow)
            try await Task.sleep(for: .milliseconds(300))
        }
        #expect(!isOpen)
        await server.end()

        let other = try S3NotificationAddress("http://127.0.0.1:\(FreePort.find())")
        let second = try await S3NotificationServer(other, token: "x") { _ in }
        let idle = try Self.connected(other)
        defer { close(idle) }
        // (An answer: the server has taken the connection.)
        let request = Array("GET / HTTP/1.1\r\nHost: here\r\n\r\n".utf8)
        let busy = try Self.connected(other)
        defer { close(busy) }
        #expect(Self.write(request, to: busy))
        var byte: UInt8 = 0
        _ = recv(busy, &byte, 1, 0)
        await second.end()
        #expect(Self.isClosed(idle, within: 15))
    }

    @Test("a connection above the bound is closed, and others go on")
    func connections() async throws {
        try await Self.withServer { (address, transport, got) async throws in
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            for _ in 0..<(S3NotificationServer.mostConnections + 10) {
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
                sockets.append(descriptor)
                var place = FreePort.loopback(UInt16(address.port))
                let isConnected = withUnsafePointer(to: &place) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
                #expect(isConnected)
            }
            // The last ones were closed at once, before they are idle for long.
            #expect(Self.isClosed(sockets[sockets.count - 1], within: 15))
            for socket in sockets { close(socket) }
            sockets = []
            var status = 0
            for _ in 0..<100 where status != 200 {
                status = (try? await Self.send(transport, "POST", address.url("secret-1"), [1])) ?? 0
                if status != 200 { try await Task.sleep(for: .milliseconds(100)) }
            }
            #expect(status == 200 && got().last == [1])
        }
    }

    @Test(
        "addresses",
        arguments: [
            ("http://127.0.0.1:9000", true), ("http://box.example:80", true), ("https://box:9000", false),
            ("http://box", false), ("http://box:9000/x", false), ("box:9000", false), ("http://box:0", false),
        ])
    func addresses(_ url: String, _ isOne: Bool) { #expect(((try? S3NotificationAddress(url)) != nil) == isOne) }

    private static func message(_ keys: [String], bucket: String = "documents") -> [UInt8] {
        let records = keys.map { #"{"s3":{"bucket":{"name":"\#(bucket)"},"object":{"key":"\#($0)","size":1}}}"# }
        return Array(#"{"Records":[\#(records.joined(separator: ","))]}"#.utf8)
    }

    @Test("a message names objects of the mounted part, and nothing else")
    func paths() throws {
        let address = try S3Address("s3://documents/part")
        #expect(S3Notification.paths(Self.message(["part/a/b", "other/c"]), address) == ["a/b"])
        #expect(S3Notification.paths(Self.message(["part/a"], bucket: "x"), address) == [])
        #expect(S3Notification.paths(Self.message(["part/a+b%2Fc"]), address) == ["a+b%2Fc", "a b/c"])
        #expect(S3Notification.paths(Self.message(["part/x/.hydrant-try-1"]), address) == [])
        #expect(S3Notification.paths(Self.message(["part/x/.hydrant-move-1"]), address) == ["x/.hydrant-move-1"])
        #expect(S3Notification.paths(Array("no JSON".utf8), address) == nil)
        #expect(S3Notification.paths(Self.message((0..<1_000).map { "part/\($0)" }), address) == nil)
        #expect(S3Notification.folders(of: "a/b/c") == ["a/b/", "a/", ""])
        #expect(S3Notification.folders(of: "a/b/") == ["a/", ""])
    }
}
