import Foundation
import Glibc
import Synchronization
import Testing

@testable import ControlAPI

/// Needs root, to become somebody else.
@Suite(.enabled(if: geteuid() == 0)) struct PeerTests {
    private static let script = """
        import json, socket, struct, sys
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        try:
            s.connect(sys.argv[1])
        except PermissionError:
            print("denied"); sys.exit()
        try:
            m = json.dumps({"ping": {}}).encode()
            s.sendall(struct.pack(">I", len(m)) + m)
            print("answered" if s.recv(4) else "closed")
        except (ConnectionError):
            print("closed")
        """

    private func ping(_ socket: String, asUser uid: UInt32) async throws -> String {
        try await offPool {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/setpriv", directoryHint: .notDirectory)
            // The system's Python: another one may live in a folder that this user cannot enter.
            process.arguments = [
                "--reuid", "\(uid)", "--clear-groups", "/usr/bin/python3", "-c", Self.script, socket,
            ]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            process.waitUntilExit()
            return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    @Test func anotherUserIsKeptOutByTheMode() async throws {
        try await TestServer.with { server in
            chmod(server.folder.path, 0o755)
            let word = try await ping(server.folder.socket, asUser: 65534)
            #expect(word == "denied")
        }
    }

    @Test func anotherUserIsKeptOutByHisCredentials() async throws {
        try await TestServer.with { server in
            chmod(server.folder.path, 0o755)
            chmod(server.folder.socket, 0o666)
            let theirs = try await ping(server.folder.socket, asUser: 65534)
            #expect(theirs == "closed")
            #expect(server.service.requests.withLock { $0.isEmpty })
            // The script itself is able to get an answer.
            let ours = try await ping(server.folder.socket, asUser: 0)
            #expect(ours == "answered")
        }
    }
}
