import Foundation
import Testing
import WebPage

/// What a client may use of the server.
@Suite("The page's bounds")
struct PageBoundsTests {
    @Test("too large a request is refused")
    func sizes() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            let long = String(repeating: "x", count: 20_000)
            #expect(try await page.post("domains", [:], token: token, ["X-Long": long]).status == 431)
            #expect(try await page.send("GET", "/" + long).status == 414)
            let huge = String(repeating: "x", count: 200_000)
            let refused = try await page.post("domains", [:], token: token, ["X-Long": huge])
            #expect([0, 400, 431].contains(refused.status))
            #expect(
                try await page.post("domains", ["text": String(repeating: "x", count: 300_000)], token: token).status
                    == 413)
            #expect(try await page.post("session", ["code": String(repeating: "x", count: 2_000)]).status == 413)
            #expect(try await page.raw("no HTTP at all\r\n\r\n").status == 400)
            // (The server goes on.)
            #expect(try await page.post("domains", [:], token: token).status == 200)
        }
    }

    @Test("a client that sends a byte now and then is hung up on", .timeLimit(.minutes(2)))
    func slow() async throws {
        var bounds = WebServer.Bounds()
        bounds.requestSeconds = 1
        try await PageClient.with(bounds) { page in
            try await PageClient.onThread {
                let socket = try PageClient.connect(page.port)
                defer { close(socket) }
                var letters = Array("GET / HTTP/1.1\r\nX: ".utf8)[...]
                // Until the server has closed the connection: then sending fails.
                while true {
                    var letter = letters.popFirst() ?? UInt8(ascii: "x")
                    if send(socket, &letter, 1, Int32(MSG_NOSIGNAL)) < 0 { return }
                    usleep(50_000)
                }
            }
            #expect(try await page.send("GET", "/").status == 200)
        }
    }

    @Test("more connections than are allowed are closed at once")
    func connections() async throws {
        var bounds = WebServer.Bounds()
        bounds.connections = 4
        try await PageClient.with(bounds) { page in
            let sockets = try (0..<4).map { _ in try PageClient.connect(page.port) }
            defer { for socket in sockets { close(socket) } }
            let fifth = try await PageClient.onThread {
                let socket = try PageClient.connect(page.port)
                defer { close(socket) }
                return PageClient.receive(socket)
            }
            #expect(fifth.isEmpty)
        }
    }
}
