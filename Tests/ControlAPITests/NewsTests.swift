import Foundation
import Glibc
import Synchronization
import Testing

@testable import ControlAPI

/// Says so many things before its answer, and counts what was taken.
private final class NewsService: ControlService {
    let sent = Mutex(0)
    let failures = Mutex(0)
    private let count: Int
    private let size: Int

    /// - Parameters:
    ///   - count: how often it says something.
    ///   - size: about how many bytes each time.
    init(count: Int, size: Int = 10) {
        self.count = count
        self.size = size
    }

    static func news(_ number: Int, size: Int = 10) -> ControlNews {
        .events([EventRecord(time: "t", event: "error", message: String(repeating: "x", count: size), count: number)])
    }

    func respond(to request: ControlRequest) async -> ControlResponse { .pong(pid: 1) }

    func respond(to request: ControlRequest, sendingNewsTo listener: ControlListener) async -> ControlResponse {
        guard case .events = request else { return await respond(to: request) }
        for number in 0..<count {
            do {
                try await listener.send(Self.news(number, size: size))
                sent.withLock { $0 += 1 }
            } catch {
                failures.withLock { $0 += 1 }
                return .done
            }
        }
        return .done
    }
}

@Suite("Messages before the answer", .timeLimit(.minutes(10))) struct NewsTests {
    private static let request = ControlRequest.events(last: 0, follows: true)

    private func with(
        _ service: NewsService, _ body: (_ socket: String, _ server: ControlServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = ControlServer(socketPath: folder.socket, service: service, logger: silentLogger)
        try await server.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(folder.socket, server)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    @Test("messages come in order, and the answer last")
    func order() async throws {
        try await with(NewsService(count: 500)) { socket, _ in
            var numbers: [Int] = []
            let answer = try await ControlClient(socketPath: socket).follow(Self.request) { news in
                if case .events(let events) = news { numbers += events.compactMap(\.count) }
            }
            #expect(answer == .done)
            #expect(numbers == Array(0..<500))
        }
    }

    @Test("a request without messages is answered as before, also on the same connection after one with messages")
    func plain() async throws {
        try await with(NewsService(count: 3)) { socket, _ in
            let answer = try await ControlClient(socketPath: socket).follow(.ping) { _ in Issue.record("news") }
            #expect(answer == .pong(pid: 1))
            let answers = try await offPool {
                let raw = try RawSocket(socket)
                defer { raw.hangUp() }
                raw.send(try RawSocket.frame(Self.request) + RawSocket.frame(.ping))
                return try (0..<5).map { _ in try raw.receiveResponse() }
            }
            #expect(answers.prefix(3).map { $0 } == (0..<3).map { .news(NewsService.news($0)) })
            #expect(answers.suffix(2).map { $0 } == [.done, .pong(pid: 1)])
        }
    }

    @Test(
        "a client that does not read makes the service wait at the cost of one message; others are served; a hang-up ends it"
    )
    func slowReader() async throws {
        let service = NewsService(count: .max, size: 100_000)
        try await with(service) { socket, _ in
            let raw = try await offPool {
                let raw = try RawSocket(socket)
                raw.send(try RawSocket.frame(Self.request))
                return raw
            }
            // The kernel's buffers fill, and then nothing goes any more.
            var (last, still) = (0, 0)
            #expect(
                await eventually {
                    let now = service.sent.withLock { $0 }
                    still = now > 0 && now == last ? still + 1 : 0
                    last = now
                    usleep(100_000)
                    return still == 5
                })
            let stuck = service.sent.withLock { $0 }
            #expect(stuck < 200)
            #expect(try await ControlClient(socketPath: socket).send(.ping, timeout: 60) == .pong(pid: 1))
            #expect(service.sent.withLock { $0 } == stuck)
            raw.hangUp()
            #expect(await eventually { service.failures.withLock { $0 } == 1 })
        }
    }

    @Test("a client that is slow to process messages makes the daemon wait too")
    func slowClient() async throws {
        let service = NewsService(count: 1_000, size: 100_000)
        try await with(service) { socket, _ in
            var isFirst = true
            var seen = 0
            _ = try await ControlClient(socketPath: socket).follow(Self.request) { _ in
                seen += 1
                guard isFirst else { return }
                isFirst = false
                try await Task.sleep(for: .milliseconds(500))
                #expect(service.sent.withLock { $0 } < 200)
            }
            #expect(seen == 1_000)
        }
    }

    @Test("a client that throws or is cancelled ends the request")
    func clientStops() async throws {
        struct Enough: Error {}
        let service = NewsService(count: .max, size: 1_000)
        try await with(service) { socket, _ in
            await #expect(throws: Enough.self) {
                try await ControlClient(socketPath: socket).follow(Self.request) { _ in throw Enough() }
            }
            #expect(await eventually { service.failures.withLock { $0 } == 1 })
            let task = Task {
                try await ControlClient(socketPath: socket).follow(Self.request) { _ in }
            }
            #expect(await eventually { service.sent.withLock { $0 } > 100 })
            task.cancel()
            let error = await #expect(throws: ControlError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(await eventually { service.failures.withLock { $0 } == 2 })
        }
    }

    @Test("a server that stops ends the request with an error that says so")
    func serverStops() async throws {
        let service = NewsService(count: .max, size: 1_000)
        try await with(service) { socket, server in
            let task = Task { try await ControlClient(socketPath: socket).follow(Self.request) { _ in } }
            #expect(await eventually { service.sent.withLock { $0 } > 10 })
            await server.stop()
            let error = await #expect(throws: ControlError.self) { try await task.value }
            #expect(error?.code == .protocolError)
        }
    }

    @Test(
        "hostile: a request after one that never ends gets a last answer, and the connection is closed",
        arguments: ["garbage", "too long", "too many", "half closed"])
    func hostile(_ kind: String) async throws {
        let service = NewsService(count: .max, size: 10)
        try await with(service) { socket, _ in
            let code = try await offPool { () -> String? in
                let raw = try RawSocket(socket)
                defer { raw.hangUp() }
                raw.send(try RawSocket.frame(Self.request))
                switch kind {
                // (Garbage is looked at when its turn comes: never, so it just waits; then there is too much of it.)
                case "garbage", "too many":
                    let one = kind == "garbage" ? RawSocket.frame(Array("garbage".utf8)) : try RawSocket.frame(.ping)
                    for _ in 0..<100 { raw.send(one) }
                case "too long": raw.send([0xff, 0xff, 0xff, 0xff])
                default: raw.endSending()
                }
                var last: ControlResponse?
                while let response = try raw.receiveResponse() { last = response }
                return failureCode(last)
            }
            switch kind {
            case "too long": #expect(code == ControlFailure.requestTooLarge)
            case "half closed": #expect(code == nil)
            default: #expect([ControlFailure.tooManyRequests, ControlFailure.badRequest].contains(code))
            }
            #expect(await eventually { service.failures.withLock { $0 } == 1 })
            #expect(try await ControlClient(socketPath: socket).send(.ping, timeout: 60) == .pong(pid: 1))
        }
    }

    @Test("hostile: requests inside requests inside requests")
    func nested() async throws {
        try await with(NewsService(count: 1)) { socket, _ in
            let depth = 20_000
            let text =
                String(repeating: "{\"reporting\":{\"_0\":", count: depth) + "{\"ping\":{}}"
                + String(repeating: "}}", count: depth)
            let answer = try await offPool {
                let raw = try RawSocket(socket)
                defer { raw.hangUp() }
                raw.send(RawSocket.frame(Array(text.utf8)))
                return try raw.receiveResponse()
            }
            #expect(failureCode(answer) == ControlFailure.badRequest)
            #expect(try await ControlClient(socketPath: socket).send(.ping, timeout: 60) == .pong(pid: 1))
        }
    }
}
