import ControlAPI
import Foundation
import Testing

@testable import Daemon

/// A trash may have more items than fit into an answer of the daemon.
@Suite("the answer about the trash")
struct TrashAnswerTests {
    private static func items(_ count: Int, path: String) -> [TrashedStatus] {
        (0..<count).map {
            TrashedStatus(id: "\($0)", name: "name", path: path, kind: .document, size: .max, deleted: 1_795_862_345.25)
        }
    }

    @Test("what fits is sent, the last deleted first", arguments: ["/a", String(repeating: "/\u{1}", count: 2_000)])
    func fits(_ path: String) throws {
        let all = Self.items(12_000, path: path)
        let count = DomainService.fitting(all)
        #expect((1...10_000).contains(count) && (count == 10_000) == (path == "/a"))
        let answer = ControlResponse.trashed(Array(all.prefix(count)), more: all.count - count)
        let json = try JSONEncoder().encode(answer)
        #expect(
            json.count <= ControlLimits.responseBytes && (path == "/a" || json.count > ControlLimits.responseBytes / 2))
        // (Decoding takes seconds in a debug build.)
        if count > 5_000 { return }
        guard case .trashed(let items, let more) = try JSONDecoder().decode(ControlResponse.self, from: json) else {
            Issue.record("another answer")
            return
        }
        #expect(items.count == count && more == 12_000 - count)
    }

    @Test("all of a small trash is sent") func small() {
        #expect(DomainService.fitting(Self.items(3, path: "/a")) == 3)
        #expect(DomainService.fitting([]) == 0)
    }
}
