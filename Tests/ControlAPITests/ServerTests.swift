import Foundation
import Glibc
import Synchronization
import Testing

@testable import ControlAPI

@Suite struct ServerTests {
    private func server(_ path: String) -> ControlServer {
        ControlServer(socketPath: path, service: ScriptedService(), logger: silentLogger)
    }

    @Test func socketIsPrivateAndGoesAway() async throws {
        try await TestServer.with { server in
            let info = try #require(lstatOf(server.folder.socket))
            #expect(info.isSocket)
            #expect(info.permissions == 0o600)
            await server.server.stop()
            #expect(lstatOf(server.folder.socket) == nil)
        }
    }

    @Test func secondServerIsRefused() async throws {
        try await TestServer.with { first in
            let second = server(first.folder.socket)
            let error = await #expect(throws: ControlError.self) { try await second.start() }
            #expect(error?.code == .refused)
            // The first goes on, also when the second is told to stop.
            await second.stop()
            let answer = try await first.client.send(.ping, timeout: 60)
            #expect(answer == .pong(pid: 1))
        }
    }

    @Test func liveListenerWithoutOurLockIsRefused() async throws {
        try await TestServer.with { first in
            unlink(first.folder.socket + ".lock")
            let error = await #expect(throws: ControlError.self) { try await server(first.folder.socket).start() }
            #expect(error?.code == .refused)
        }
    }

    @Test func staleSocketIsReplaced() async throws {
        let folder = try TemporaryFolder()
        // Bound and closed without unlink: what a killed daemon leaves.
        let dead = try SocketClaim.take(folder.socket)
        close(dead.socket)
        let inode = try #require(lstatOf(folder.socket)).st_ino
        rename(folder.socket, folder.socket + ".kept")
        dead.release()
        rename(folder.socket + ".kept", folder.socket)
        #expect(lstatOf(folder.socket)?.st_ino == inode)

        let next = server(folder.socket)
        try await next.start()
        #expect(try await ControlClient(socketPath: folder.socket).send(.ping, timeout: 60) == .pong(pid: 1))
        await next.stop()
    }

    @Test func ordinaryFileIsNotReplaced() async throws {
        let folder = try TemporaryFolder()
        try Data("precious".utf8).write(to: URL(filePath: folder.socket, directoryHint: .notDirectory))
        let error = await #expect(throws: ControlError.self) { try await server(folder.socket).start() }
        #expect(error?.code == .refused)
        #expect(FileManager.default.contents(atPath: folder.socket) == Data("precious".utf8))
    }

    @Test func startsAgainAfterStop() async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<5 {
            let server = server(folder.socket)
            try await server.start()
            _ = try await ControlClient(socketPath: folder.socket).send(.ping, timeout: 60)
            await server.stop()
        }
    }

    @Test func requestsOfOneConnectionAreAnsweredInOrder() async throws {
        let service = ScriptedService { request in
            guard case .status(let paths) = request else { return .pong(pid: 0) }
            // The first takes longest; had they run at once, it would answer last.
            try? await Task.sleep(for: .milliseconds(paths.count == 1 ? 50 : 0))
            return .pong(pid: Int32(paths.count))
        }
        try await TestServer.with(service) { server in
            let path = server.folder.socket
            let answers = try await offPool {
                let socket = try RawSocket(path)
                defer { socket.hangUp() }
                for count in 1...5 {
                    socket.send(try RawSocket.frame(.status(paths: Array(repeating: PathBytes("x"), count: count))))
                }
                return try (1...5).map { _ in try socket.receiveResponse() }
            }
            #expect(answers == (1...5).map { .pong(pid: $0) })
        }
    }

    @Test func manyClientsAtOnce() async throws {
        try await TestServer.with { server in
            try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask { try await server.client.send(.ping, timeout: 60) }
                }
                for try await answer in group { #expect(answer == .pong(pid: 1)) }
            }
        }
    }

    @Test func hangUpCancelsTheService() async throws {
        let service = ScriptedService.hanging()
        try await TestServer.with(service) { server in
            let path = server.folder.socket
            let socket = try await offPool {
                let socket = try RawSocket(path)
                socket.send(try RawSocket.frame(.ping))
                return socket
            }
            #expect(await eventually { service.requests.withLock { $0.count } == 1 })
            socket.hangUp()
            #expect(await eventually { service.cancellations.withLock { $0 } == 1 })
        }
    }

    @Test func stopCancelsTheServiceAndHangsUp() async throws {
        let service = ScriptedService.hanging()
        try await TestServer.with(service) { server in
            async let answer = server.client.send(.ping, timeout: 60)
            #expect(await eventually { service.requests.withLock { $0.count } == 1 })
            await server.server.stop()
            #expect(await eventually { service.cancellations.withLock { $0 } == 1 })
            do {
                _ = try await answer
                Issue.record("an answer from a stopped server")
            } catch {
                #expect((error as? ControlError)?.code == .protocolError)
            }
        }
    }
}
