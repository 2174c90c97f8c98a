import Foundation
import Testing

@testable import ControlAPI

/// What a bad client sends harms its own connection only.
@Suite struct HostileClientTests {
    /// Sends `bytes`; gives the answer and whether the server hung up after it. Another client must be
    /// served before, meanwhile and after.
    private func attack(
        _ bytes: [UInt8], thenEnd: Bool = false, service: ScriptedService = ScriptedService()
    ) async throws -> (answer: ControlResponse?, isHungUp: Bool) {
        try await TestServer.with(service) { server in
            let path = server.folder.socket
            let bystander = try await offPool { try RawSocket(path) }
            let result = try await offPool {
                let socket = try RawSocket(path)
                defer { socket.hangUp() }
                socket.send(bytes)
                if thenEnd { socket.endSending() }
                let answer = try socket.receiveResponse()
                return (answer, socket.isHungUp())
            }
            let answer = try await offPool {
                defer { bystander.hangUp() }
                bystander.send(try RawSocket.frame(.ping))
                return try bystander.receiveResponse()
            }
            #expect(answer == .pong(pid: 1))
            #expect(try await server.client.send(.ping, timeout: 60) == .pong(pid: 1))
            return result
        }
    }

    @Test(arguments: [1, 3, 4, 5, 12])
    func truncated(_ length: Int) async throws {
        let bytes = Array(try RawSocket.frame(.prepareUnmount).prefix(length))
        let (answer, isHungUp) = try await attack(bytes, thenEnd: true)
        #expect(failureCode(answer) == ControlFailure.truncatedRequest)
        #expect(isHungUp)
    }

    @Test(arguments: [UInt32(ControlLimits.requestBytes + 1), 1 << 31, .max])
    func oversized(_ length: UInt32) async throws {
        let (answer, isHungUp) = try await attack(withUnsafeBytes(of: length.bigEndian) { Array($0) })
        #expect(failureCode(answer) == ControlFailure.requestTooLarge)
        #expect(isHungUp)
    }

    @Test func largestRequestIsTaken() async throws {
        // White space pads JSON to exactly the limit.
        var json = Array(try JSONEncoder().encode(ControlRequest.ping))
        json += [UInt8](repeating: 0x20, count: ControlLimits.requestBytes - json.count)
        try await TestServer.with { server in
            let path = server.folder.socket
            let frame = RawSocket.frame(json)
            let answer = try await offPool {
                let socket = try RawSocket(path)
                defer { socket.hangUp() }
                socket.send(frame)
                return try socket.receiveResponse()
            }
            #expect(answer == .pong(pid: 1))
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{\"reboot\":{}}", "{\"status\":{\"paths\":[\"%\"]}}", "\u{0}\u{1}\u{2}",
        String(repeating: "[", count: 100_000),
    ])
    func garbage(_ text: String) async throws {
        let (answer, isHungUp) = try await attack(RawSocket.frame(Array(text.utf8)))
        #expect(failureCode(answer) == ControlFailure.badRequest)
        #expect(isHungUp)
    }

    @Test(
        "requests with impossible numbers are refused before any arithmetic",
        arguments: [
            .sync(timeoutSeconds: 1e300), .sync(timeoutSeconds: -1), .retry(paths: [], timeoutSeconds: 1e300),
            .reporting(.sync(timeoutSeconds: 1e19)), .limit(download: .bytesPerSecond(.max), upload: .keep),
            .limit(download: .keep, upload: .bytesPerSecond(0)), .limit(download: .none, upload: .bytesPerSecond(.min)),
            .events(last: .min, follows: false), .thumbnail(path: PathBytes(bytes: []), size: .max),
            .thumbnail(path: PathBytes(bytes: []), size: -1), .bindClaim(id: "x", pid: -1),
            .makeBookmark(
                BookmarkRequest(
                    path: PathBytes(bytes: []), grant: GrantRequest(program: nil, isWritable: false, until: 1e300))),
        ] as [ControlRequest])
    func impossibleNumbers(_ request: ControlRequest) async throws {
        let (answer, isHungUp) = try await attack(RawSocket.frame(request))
        #expect(failureCode(answer) == ControlFailure.badRequest)
        #expect(!isHungUp)
    }

    @Test func requestsBeforeTheFaultAreAnswered() async throws {
        let bytes = try RawSocket.frame(.ping) + RawSocket.frame(Array("garbage".utf8))
        let (answer, isHungUp) = try await attack(bytes)
        #expect(answer == .pong(pid: 1))
        #expect(!isHungUp, "the failure follows")
    }

    @Test func tooManyAtOnce() async throws {
        let service = ScriptedService { request in
            // The first one takes its time, so that the others pile up behind it.
            if request == .prepareUnmount { try? await Task.sleep(for: .seconds(2)) }
            return .pong(pid: 1)
        }
        let bytes =
            try RawSocket.frame(.prepareUnmount)
            + (0..<100).flatMap { _ in try RawSocket.frame(.ping) }
        let answers = try await TestServer.with(service) { server in
            let path = server.folder.socket
            return try await offPool {
                let socket = try RawSocket(path)
                defer { socket.hangUp() }
                socket.send(bytes)
                var answers: [ControlResponse] = []
                while let answer = try socket.receiveResponse() { answers.append(answer) }
                return answers
            }
        }
        #expect(answers.count == 1 + ControlLimits.requestsAhead + 1)
        #expect(answers.dropLast().allSatisfy { $0 == .pong(pid: 1) })
        #expect(failureCode(answers.last) == ControlFailure.tooManyRequests)
    }

    @Test func answerThatIsTooLargeBecomesAFailure() async throws {
        let big = String(repeating: "x", count: ControlLimits.responseBytes)
        let service = ScriptedService { _ in .failure(ControlFailure(code: "big", message: big)) }
        try await TestServer.with(service) { server in
            let answer = try await server.client.send(.ping, timeout: 60)
            #expect(failureCode(answer) == ControlFailure.responseTooLarge)
        }
    }

    @Test func largeAnswerArrivesWhole() async throws {
        let big = String(repeating: "x", count: ControlLimits.responseBytes - 1000)
        let response = ControlResponse.failure(ControlFailure(code: "big", message: big))
        try await TestServer.with(ScriptedService { _ in response }) { server in
            let answer = try await server.client.send(.ping, timeout: 60)
            #expect(answer == response)
        }
    }
}
