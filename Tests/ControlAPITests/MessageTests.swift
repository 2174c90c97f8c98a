import Foundation
import Synchronization
import Testing

@testable import ControlAPI

@Suite struct MessageTests {
    static let requests: [ControlRequest] = [
        .status(paths: []), .status(paths: ["a b", "ä/ö"].map { PathBytes($0) }),
        .evict(paths: [PathBytes(bytes: [0x61, 0xff, 0xfe])]), .download(paths: [PathBytes("")]),
        .sync(timeoutSeconds: nil), .sync(timeoutSeconds: 2.5), .prepareUnmount, .ping,
    ]

    static let item = ItemStatus(
        path: "/m/a.txt", identifier: "id-1", kind: .document, state: .partial, modified: true, pinned: true,
        excluded: true, size: 1 << 40, bytesDownloaded: 7, version: "v1", error: "no room")
    static let bare = ItemStatus(path: "/m/link", kind: .link, state: .placeholder)
    static let change = PendingChange(path: "/m/a.txt", what: "upload", error: "offline", nextTry: 1.25e9)
    static let domain = DomainStatus(
        domain: "d", provider: "dir:/STORE", mountPoint: "/m", pid: 42,
        pending: [change, PendingChange(path: "/m/b", what: "delete")], passthrough: true)

    static let responses: [ControlResponse] = [
        .items([item, bare]), .items([]), .domain(domain, items: [item]),
        .outcomes([
            PathOutcome(path: PathBytes(bytes: [0xff]), error: "in use", bytes: 0),
            PathOutcome(path: PathBytes("b"), bytes: 1 << 33),
        ]),
        .synced(pending: []), .synced(pending: [change]), .pong(pid: 7),
        .failure(ControlFailure(code: "c", message: "m")),
    ]

    @Test(arguments: requests)
    func requestSurvivesTheSocket(_ request: ControlRequest) async throws {
        try await TestServer.with { server in
            _ = try await server.client.send(request, timeout: 5)
            #expect(server.service.requests.withLock { $0 } == [request])
        }
    }

    @Test(arguments: responses)
    func responseSurvivesTheSocket(_ response: ControlResponse) async throws {
        try await TestServer.with(ScriptedService { _ in response }) { server in
            let answer = try await server.client.send(.ping, timeout: 5)
            #expect(answer == response)
        }
    }

    @Test func itemStatusHasAllKeysAlways() throws {
        let keys: Set = [
            "path", "identifier", "kind", "state", "modified", "pinned", "excluded", "size",
            "bytesDownloaded", "version", "error",
        ]
        for item in [Self.item, Self.bare] {
            let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(item)) as? [String: Any]
            #expect(Set(try #require(json).keys) == keys)
        }
        let bare = String(decoding: try JSONEncoder().encode(Self.bare), as: UTF8.self)
        for key in ["identifier", "version", "error"] { #expect(bare.contains("\"\(key)\":null")) }
        #expect(bare.contains("\"kind\":\"link\""))
        #expect(bare.contains("\"state\":\"placeholder\""))
    }

    @Test func pathIsBase64() throws {
        let path = PathBytes(bytes: [0x00, 0xff, 0x41])
        let json = try JSONEncoder().encode([path])
        #expect(String(decoding: json, as: UTF8.self) == "[\"AP9B\"]")
        #expect(try JSONDecoder().decode([PathBytes].self, from: json) == [path])
        #expect(PathBytes("ä").bytes == [0xc3, 0xa4])
        #expect(path.string == "\0\u{FFFD}A")
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([PathBytes].self, from: Data("[\"%%%\"]".utf8))
        }
    }
}
