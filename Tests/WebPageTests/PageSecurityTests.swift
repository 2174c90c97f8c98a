import Foundation
import Testing
import WebPage

/// Nobody but the page in this user's browser gets or changes anything.
@Suite("The page's security")
struct PageSecurityTests {
    private static let questions = [
        "domains", "live", "list", "find", "search", "thumbnail", "text", "rename", "move", "delete", "folder",
        "download",
        "cancel", "evict", "pin", "unpin", "share", "conflicts", "resolve", "retry", "discard", "pause", "resume",
        "limit",
    ]

    @Test("another user of this machine has no token, and gets nothing")
    func anotherUser() async throws {
        try await PageClient.with { page in
            for name in Self.questions + ["no such question"].map({ $0.replacing(" ", with: "-") }) {
                #expect(try await page.post(name, [:]).status == 403, "\(name)")
                let guess = String(repeating: "0", count: 64)
                #expect(try await page.post(name, [:], token: guess).status == 403, "\(name)")
            }
            let token = try await page.token()
            // Browsers send cookies to every port of 127.0.0.1.
            #expect(try await page.post("domains", [:], token: nil, ["Cookie": "token=\(token)"]).status == 403)
            #expect(try await page.send("PUT", page.upload("a.txt"), body: "a").status == 403)
            #expect(try page.names().isEmpty)
            #expect(try await page.post("domains", [:], token: token).status == 200)
        }
    }

    @Test("a code opens the page once, and nothing else is a code")
    func codes() async throws {
        try await PageClient.with { page in
            let code = try page.codes.make()
            let first = try await page.post("session", ["code": code])
            #expect(first.status == 200)
            #expect((first.json["token"] as? String)?.count == 64)
            #expect(try await page.post("session", ["code": code]).status == 403)
            try page.write("code-x", "kept")
            for wrong in [
                "", "../domain/code-x", "x", String(repeating: "f", count: 64), String(repeating: "f", count: 600),
            ] {
                #expect(try await page.post("session", ["code": wrong]).status == 403, "\(wrong)")
            }
            #expect(page.text(page.domain + "/code-x") == "kept")
            // An old one.
            let old = try page.codes.make()
            let file = page.codes.folder + "/code-" + old
            try FileManager.default.setAttributes([.modificationDate: Date() - 3_600], ofItemAtPath: file)
            #expect(try await page.post("session", ["code": old]).status == 403)
        }
    }

    @Test("a code's file is the user's alone")
    func codeFile() async throws {
        try await PageClient.with { page in
            let path = page.codes.folder + "/code-" + (try page.codes.make())
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("a DNS name that points here is refused")
    func anotherName() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            let hosts = [
                "evil.example:\(page.port)", "evil.example", "127.0.0.1", "127.0.0.1:1",
                "127.0.0.1.evil.example:\(page.port)",
                "localhost", "127.0.0.1:\(page.port)@evil.example",
            ]
            for host in hosts {
                #expect(try await page.post("domains", [:], token: token, ["Host": host]).status == 421, "\(host)")
                #expect(try await page.send("GET", "/", token: nil, ["Host": host]).status == 421, "\(host)")
            }
            for host in ["localhost:\(page.port)", "[::1]:\(page.port)", "127.0.0.1:\(page.port)"] {
                #expect(try await page.post("domains", [:], token: token, ["Host": host]).status == 200, "\(host)")
            }
            let none = try await page.send("GET", "/", token: nil, ["Host": nil as String?])
            #expect(none.status >= 400)
        }
    }

    @Test("another site's page is refused, even with the token")
    func anotherSite() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            let own = "http://127.0.0.1:\(page.port)"
            for origin in [
                "http://evil.example", "null", "http://127.0.0.1:1", "http://localhost:\(page.port)",
                "https" + own.dropFirst(4),
            ] {
                #expect(
                    try await page.post("domains", [:], token: token, ["Origin": origin]).status == 403, "\(origin)")
            }
            for site in ["cross-site", "same-site", "none"] {
                let fields: [String: String?] = [
                    "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
                ]
                #expect(try await page.post("domains", [:], token: token, fields).status == 403, "\(site)")
                #expect(try await page.send("PUT", page.upload("a.txt"), token: token, fields, body: "a").status == 403)
                // The page without data may be opened from elsewhere, its parts may not be used there.
                #expect(try await page.send("GET", "/", token: nil, fields).status == 200)
                let part: [String: String?] = [
                    "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script",
                ]
                #expect(try await page.send("GET", "/main.js", token: nil, part).status == 403)
            }
            let fields: [String: String?] = ["Sec-Fetch-Site": "same-origin", "Origin": own]
            #expect(try await page.post("domains", [:], token: token, fields).status == 200)
            // A form needs no permission for this type.
            #expect(try await page.post("domains", [:], token: token, ["Content-Type": "text/plain"]).status == 415)
            let asked = try await page.send(
                "OPTIONS", "/api/domains", token: nil,
                [
                    "Origin": own, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization",
                ])
            #expect(asked.status >= 400)
            #expect(!asked.head.lowercased().contains("access-control-"))
            #expect(try page.names().isEmpty)
        }
    }

    @Test("every answer forbids foreign scripts, frames, and guessing of types")
    func headers() async throws {
        try await PageClient.with { page in
            let replies = [
                try await page.send("GET", "/"), try await page.send("GET", "/main.js"),
                try await page.send("GET", "/nowhere"),
                try await page.post("domains", [:]), try await page.post("domains", [:], token: try await page.token()),
            ]
            for reply in replies {
                let head = reply.head.lowercased()
                #expect(head.contains("content-security-policy: default-src 'none'; script-src 'self';"))
                #expect(head.contains("frame-ancestors 'none'") && !head.contains("unsafe"))
                #expect(head.contains("x-content-type-options: nosniff"))
                #expect(head.contains("referrer-policy: no-referrer"))
                #expect(head.contains("cache-control: no-store"))
                #expect(!head.contains("access-control") && !head.contains("set-cookie"))
            }
        }
    }

    @Test("the page's files are whole, and name nothing from elsewhere")
    func assets() async throws {
        try await PageClient.with { page in
            let index = try await page.send("GET", "/")
            #expect(index.status == 200 && index.body.contains("</html>"))
            for name in ["main.js", "api.js", "words.js", "parts.js", "list.js", "folder.js", "state.js", "page.css"] {
                let reply = try await page.send("GET", "/" + name)
                #expect(reply.status == 200 && reply.body.utf8.count > 500, "\(name)")
                #expect(
                    !reply.body.contains("innerHTML")
                        && !reply.body.replacing("http://www.w3.org/", with: "").contains("http://"), "\(name)")
            }
        }
    }

    @Test("the server listens on loopback only")
    func loopback() async throws {
        try await PageClient.with { page in
            let port = String(page.port, radix: 16, uppercase: true)
            let suffix = ":" + String(repeating: "0", count: 4 - port.count) + port
            func addresses(_ file: String) throws -> Set<String> {
                let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").dropFirst()
                let fields = lines.map { $0.split(separator: " ") }.filter { $0.count > 3 && $0[3] == "0A" }
                return Set(fields.map { String($0[1]) }.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(5)) })
            }
            let four = try addresses("/proc/net/tcp")
            #expect(four == ["0100007F"])
            let six = (try? addresses("/proc/net/tcp6")) ?? []
            #expect(six.isSubset(of: ["00000000000000000000000001000000"]))
        }
    }
}
