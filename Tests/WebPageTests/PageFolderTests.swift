import Foundation
import Testing
import WebPage

/// What the page does in a folder, and that it does it nowhere else.
@Suite("The page's folders")
struct PageFolderTests {
    @Test("a path that climbs is refused, whichever way it climbs")
    func climbing() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            try Data("secret".utf8).write(to: URL(filePath: page.outside + "/secret"))
            try FileManager.default.createSymbolicLink(atPath: page.domain + "/link", withDestinationPath: page.outside)
            try FileManager.default.createDirectory(atPath: page.domain + "/folder", withIntermediateDirectories: false)
            try page.write("folder/a", "a")
            let climbing = [
                "..", "../outside", "folder/../../outside", "/etc", "folder//a", "folder/", "./folder", "link",
                "link/x", "a\0b",
                String(repeating: "a", count: 256), String(repeating: "a/", count: 4_000) + "a",
            ]
            for path in climbing {
                let call: [String: Any] = ["domain": page.domain, "path": PageClient.base64(path), "count": 0]
                #expect(try await page.post("list", call, token: token).status == 400, "\(path)")
                let find = call.merging(["text": "s"]) { $1 }
                #expect(try await page.post("find", find, token: token).status == 400, "\(path)")
            }
            for path in climbing where path != "link" && !path.hasPrefix("aaa") {
                let call: [String: Any] = [
                    "domain": page.domain, "path": PageClient.base64(path + "/secret"), "name": "x", "folder": "",
                    "keep": "mine",
                ]
                // (The daemon looks at paths itself, and follows no link.)
                let asked = path.hasPrefix("link") ? [] : ["evict", "download", "pin", "share", "thumbnail", "resolve"]
                for name in ["rename", "move", "delete", "folder", "text"] + asked {
                    let whole = call.merging(["paths": [PageClient.base64(path + "/secret")]]) { $1 }
                    #expect(try await page.post(name, whole, token: token).status == 400, "\(name) \(path)")
                }
                let sent = try await page.send("PUT", page.upload("new", folder: path), token: token, body: "b")
                #expect([400, 414].contains(sent.status), "\(path)")
            }
            for name in ["..", ".", "", "../x", "a/b", "a\0", String(repeating: "n", count: 256)] {
                let call: [String: Any] = ["domain": page.domain, "path": PageClient.base64("folder/a"), "name": name]
                #expect(try await page.post("rename", call, token: token).status == 400, "\(name)")
                #expect(try await page.send("PUT", page.upload(name), token: token, body: "b").status == 400, "\(name)")
            }
            let move: [String: Any] = [
                "domain": page.domain, "path": PageClient.base64("folder/a"), "folder": PageClient.base64("link"),
            ]
            #expect(try await page.post("move", move, token: token).status == 400)
            #expect(page.text(page.outside + "/secret") == "secret")
            #expect(try FileManager.default.contentsOfDirectory(atPath: page.outside) == ["secret"])
            #expect(try page.names() == ["folder", "link"] && page.text(page.domain + "/folder/a") == "a")
        }
    }

    @Test("a folder of this machine that is not mounted is no domain")
    func notMounted() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            for domain in ["/etc", page.outside, page.domain + "/", page.domain + "/..", ""] {
                let call: [String: Any] = ["domain": domain, "path": "", "count": 0]
                #expect(try await page.post("list", call, token: token).status == 404, "\(domain)")
            }
        }
    }

    @Test("a link itself is renamed and deleted, and what it leads to stays")
    func links() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            try Data("kept".utf8).write(to: URL(filePath: page.outside + "/kept"))
            try FileManager.default.createDirectory(
                atPath: page.domain + "/tree/deep", withIntermediateDirectories: true)
            try page.write("tree/deep/a", "a")
            try FileManager.default.createSymbolicLink(
                atPath: page.domain + "/tree/deep/link", withDestinationPath: page.outside)
            let call: [String: Any] = ["domain": page.domain, "path": PageClient.base64("tree")]
            #expect(try await page.post("delete", call, token: token).status == 200)
            #expect(try page.names().isEmpty)
            #expect(page.text(page.outside + "/kept") == "kept")
        }
    }

    @Test("an upload comes whole or not at all, and replaces nothing unless that was agreed")
    func uploads() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            let large = String(repeating: "0123456789", count: 200_000)
            #expect(try await page.send("PUT", page.upload("große Datei.txt"), token: token, body: large).status == 200)
            #expect(page.text(page.domain + "/große Datei.txt") == large)
            let again = try await page.send("PUT", page.upload("große Datei.txt"), token: token, body: "other")
            #expect(again.status == 409 && again.json["code"] as? String == "exists")
            #expect(page.text(page.domain + "/große Datei.txt") == large)
            let agreed = page.upload("große Datei.txt", replace: true)
            #expect(try await page.send("PUT", agreed, token: token, body: "other").status == 200)
            #expect(page.text(page.domain + "/große Datei.txt") == "other")
            // A folder is never replaced.
            try FileManager.default.createDirectory(atPath: page.domain + "/folder", withIntermediateDirectories: false)
            #expect(
                try await page.send("PUT", page.upload("folder", replace: true), token: token, body: "b").status == 409)
            // One that breaks off leaves nothing behind.
            let head =
                "PUT \(page.upload("broken.txt")) HTTP/1.1\r\nHost: 127.0.0.1:\(page.port)\r\n"
                + "Authorization: Bearer \(token)\r\nContent-Length: 1000\r\n\r\nbegin"
            let socket = try PageClient.connect(page.port)
            _ = Array(head.utf8).withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
            while try page.names().count < 3 { try await Task.sleep(for: .milliseconds(10)) }
            close(socket)
            while try page.names().count > 2 { try await Task.sleep(for: .milliseconds(10)) }
            #expect(try page.names() == ["folder", "große Datei.txt"])
        }
    }

    @Test("renaming and moving replace nothing")
    func renames() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            try page.write("a", "a")
            try page.write("b", "b")
            func rename(_ path: String, _ name: String) async throws -> Int {
                let call: [String: Any] = ["domain": page.domain, "path": PageClient.base64(path), "name": name]
                return try await page.post("rename", call, token: token).status
            }
            #expect(try await rename("a", "b") == 409)
            #expect(try await rename("a", "c") == 200)
            #expect(try await rename("gone", "d") == 404)
            let folder: [String: Any] = ["domain": page.domain, "path": "", "name": "folder"]
            #expect(try await page.post("folder", folder, token: token).status == 200)
            #expect(try await page.post("folder", folder, token: token).status == 409)
            let move: [String: Any] = [
                "domain": page.domain, "path": PageClient.base64("c"), "folder": PageClient.base64("folder"),
            ]
            #expect(try await page.post("move", move, token: token).status == 200)
            #expect(try await rename("", "x") == 400)
            #expect(try page.names() == ["b", "folder"])
            #expect(page.text(page.domain + "/folder/c") == "a" && page.text(page.domain + "/b") == "b")
        }
    }

    @Test("a name is found by its beginning, around the end")
    func finds() async throws {
        try await PageClient.with { page in
            let token = try await page.token()
            for name in ["Alpha", "beta", "Zeta", "alps"] { try page.write(name, "") }
            try FileManager.default.createDirectory(atPath: page.domain + "/zoo", withIntermediateDirectories: false)
            func find(_ text: String, _ from: Int) async throws -> Int? {
                let call: [String: Any] = ["domain": page.domain, "path": "", "text": text, "offset": from]
                return try await page.post("find", call, token: token).json["index"] as? Int
            }
            // In the order zoo, Alpha, alps, beta, Zeta.
            #expect(try await find("AL", 0) == 1)
            #expect(try await find("al", 2) == 2)
            #expect(try await find("al", 3) == 1)
            #expect(try await find("z", 0) == 0)
            #expect(try await find("z", 1) == 4)
            #expect(try await find("x", 0) == nil)
        }
    }
}
