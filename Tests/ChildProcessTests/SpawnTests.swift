import Foundation
import Testing

@testable import ChildProcess

@Suite(.timeLimit(.minutes(5))) struct SpawnTests {
    private func words(_ script: String, _ more: [UInt8] = []) -> [[UInt8]] {
        ["sh", "-c", script, "sh"].map { Array($0.utf8) } + [more]
    }

    private func printed(_ script: String, _ more: [UInt8] = [], environment: [[UInt8]]? = nil, as kind: Spawn.Kind)
        async throws
        -> [UInt8]
    {
        let path = NSTemporaryDirectory() + "spawn-\(UUID().uuidString)"
        defer { unlink(path) }
        let child = try Spawn.start("sh", words(script, more), environment: environment, as: kind) { actions in
            posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT, 0o600)
        }
        #expect(await Spawn.ending(of: child) == 0)
        return FileManager.default.contents(atPath: path).map { Array($0) } ?? []
    }

    @Test("the child gets arguments and environment byte for byte") func bytes() async throws {
        let name: [UInt8] = [0x61, 0xff, 0x20, 0xfe]
        let found = try await printed(
            "printf '%s|%s' \"$1\" \"$X\"", name, environment: [Array("X=".utf8) + name], as: .ordinary)
        #expect(found == name + [UInt8(ascii: "|")] + name)
    }

    @Test("the child blocks no signal, and leads its session if it has its own") func session() async throws {
        let text = String(
            decoding: try await printed("grep SigBlk /proc/self/status; ps -o sid= -p $$; echo $$", as: .ownSession),
            as: UTF8.self)
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.count == 3 && lines[0].hasSuffix("0000000000000000") && lines[1] == lines[2], "\(text)")
    }

    @Test("the status of a child is the one that a shell reports", arguments: [("exit 7", 7), ("kill -9 $$", 137)])
    func ending(_ script: String, _ status: Int32) async throws {
        #expect(await Spawn.ending(of: try Spawn.start("sh", words(script)) { _ in }) == status)
    }

    @Test func whatIsNotThereIsNotStarted() {
        #expect { try Spawn.start("/nothing/here", [[65]]) { _ in } } throws: {
            ($0 as? Spawn.Failure)?.number == ENOENT
        }
    }
}
