import Foundation
import Glibc
import Synchronization
import Testing

@testable import ControlAPI

@Suite struct ClientTests {
    @Test func nobodyThere() async throws {
        let folder = try TemporaryFolder()
        let client = ControlClient(socketPath: folder.socket)
        let error = await #expect(throws: ControlError.self) { try await client.send(.ping, timeout: 5) }
        #expect(error?.code == .notRunning)
    }

    @Test func onlyTheSocketOfADeadDaemonThere() async throws {
        let folder = try TemporaryFolder()
        let dead = try SocketClaim.take(folder.socket)
        close(dead.socket)
        let client = ControlClient(socketPath: folder.socket)
        let error = await #expect(throws: ControlError.self) { try await client.send(.ping, timeout: 5) }
        #expect(error?.code == .notRunning)
        dead.release()
    }

    @Test func timeout() async throws {
        let service = ScriptedService.hanging()
        try await TestServer.with(service) { server in
            let began = ContinuousClock.now
            let error = await #expect(throws: ControlError.self) { try await server.client.send(.ping, timeout: 2) }
            #expect(error?.code == .timedOut)
            #expect(ContinuousClock.now - began < .seconds(30))
            // The hang-up that follows ends the daemon's work.
            #expect(await eventually { service.cancellations.withLock { $0 } == 1 })
        }
    }

    @Test func cancellation() async throws {
        let service = ScriptedService.hanging()
        try await TestServer.with(service) { server in
            let client = server.client
            let task = Task { try await client.send(.ping, timeout: nil) }
            #expect(await eventually { service.requests.withLock { $0.count } == 1 })
            task.cancel()
            let error = await #expect(throws: ControlError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(await eventually { service.cancellations.withLock { $0 } == 1 })
        }
    }

    @Test func requestThatIsTooLargeIsNotSent() async throws {
        try await TestServer.with { server in
            let paths = [PathBytes(String(repeating: "x", count: ControlLimits.requestBytes))]
            let error = await #expect(throws: ControlError.self) {
                try await server.client.send(.evict(paths: paths), timeout: 5)
            }
            #expect(error?.code == .protocolError)
            #expect(server.service.requests.withLock { $0.isEmpty })
        }
    }

    @Test func pathThatIsTooLongForASocket() async throws {
        let client = ControlClient(socketPath: "/tmp/" + String(repeating: "x", count: 200))
        let error = await #expect(throws: ControlError.self) { try await client.send(.ping, timeout: 5) }
        #expect(error?.code == .system)
    }
}
