import Foundation
import Synchronization
import Testing

@testable import ControlAPI

@Suite struct MessageTests {
    static let requests: [ControlRequest] = [
        .status(paths: []), .status(paths: ["a b", "ä/ö"].map { PathBytes($0) }),
        .evict(paths: [PathBytes(bytes: [0x61, 0xff, 0xfe])]), .download(paths: [PathBytes("")]),
        .pin(paths: [PathBytes("a")], waits: true), .unpin(paths: [PathBytes("a")]),
        .sync(timeoutSeconds: nil), .sync(timeoutSeconds: 2.5), .prepareUnmount, .ping, .pause, .resume,
        .limit(download: .keep, upload: .none), .limit(download: .bytesPerSecond(1 << 40), upload: .keep),
        .events(last: 5, follows: true), .reporting(.download(paths: [PathBytes("a")])),
        .retry(paths: [PathBytes("a")], timeoutSeconds: 1), .discard(paths: [PathBytes("a")], agreed: nil),
        .discard(paths: [PathBytes("a")], agreed: [discarded]), .conflicts,
        .resolve(path: PathBytes(bytes: [0xff]), keep: .theirs),
        .noteConflict(original: PathBytes(bytes: [0xff]), copy: PathBytes("b")),
    ]

    static let discarded = DiscardedChange(path: "/m/a", changes: ["contents", "move"], bytes: 1 << 40, state: [1, 2])
    static let conflict = ConflictStatus(
        original: "/m/a", copy: "/m/b", moment: 1.25e9, reason: "bothChanged", explanation: "why")

    static let item = ItemStatus(
        path: "/m/a.txt", identifier: "id-1", kind: .document, state: .partial, modified: true, pinned: true,
        excluded: true, size: 1 << 40, bytesDownloaded: 7, version: "v1", error: "no room")
    static let bare = ItemStatus(path: "/m/link", kind: .link, state: .placeholder)
    static let change = PendingChange(
        path: "/m/a.txt", what: "upload", error: "offline", nextTry: 1.25e9, remedy: "wait")
    static let domain = DomainStatus(
        domain: "d", provider: "dir:/STORE", mountPoint: "/m", pid: 42,
        pending: [change, PendingChange(path: "/m/b", what: "delete")], passthrough: true,
        disk: DiskUse(here: 1 << 40, limit: 7, free: 3, minimumFree: 2, pinnedToCome: 1))

    static let responses: [ControlResponse] = [
        .items([item, bare]), .items([]), .domain(domain, items: [item]),
        .outcomes([
            PathOutcome(path: PathBytes(bytes: [0xff]), error: "in use", bytes: 0),
            PathOutcome(path: PathBytes("b"), bytes: 1 << 33, note: "more"),
        ]),
        .synced(pending: []), .synced(pending: [change]), .pong(pid: 7), .done,
        .settings(DomainSettings(isPaused: true, downloadLimit: 1 << 20)),
        .failure(ControlFailure(code: "c", message: "m")), .discards([discarded]), .conflicts([conflict]),
    ]

    @Test(arguments: requests)
    func requestSurvivesTheSocket(_ request: ControlRequest) async throws {
        try await TestServer.with { server in
            _ = try await server.client.send(request, timeout: 60)
            #expect(server.service.requests.withLock { $0 } == [request])
        }
    }

    @Test(arguments: responses)
    func responseSurvivesTheSocket(_ response: ControlResponse) async throws {
        try await TestServer.with(ScriptedService { _ in response }) { server in
            let answer = try await server.client.send(.ping, timeout: 60)
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

    @Test func eventsAndSettingsHaveAllKeysAlways() throws {
        func keys(_ value: some Encodable) throws -> Set<String> {
            let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any]
            return Set(try #require(json).keys)
        }
        #expect(
            try keys(EventRecord(time: "t", event: "online")) == [
                "time", "event", "path", "identifier", "bytes", "durationMs", "process", "code", "message", "count",
            ])
        #expect(try keys(EventRecord.Process(pid: 1, name: nil)) == ["pid", "name"])
        #expect(try keys(DomainSettings()) == ["paused", "downloadLimit", "uploadLimit", "holdDeletions"])
        #expect(
            try keys(PendingChange(path: "/m/b", what: "delete")) == ["path", "what", "error", "nextTry", "remedy"])
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
