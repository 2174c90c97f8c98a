import Foundation
import Glibc
import Logging
import Synchronization

@testable import ControlAPI

/// A folder of its own for one test, gone with it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/hydrant-ctl-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var socket: String { path + "/control.sock" }
}

/// Answers what it is told to, keeps what it was asked, and says when it was cancelled.
final class ScriptedService: ControlService {
    let requests = Mutex<[ControlRequest]>([])
    let cancellations = Mutex(0)
    private let answer: @Sendable (ControlRequest) async -> ControlResponse

    init(_ answer: @escaping @Sendable (ControlRequest) async -> ControlResponse = { _ in .pong(pid: 1) }) {
        self.answer = answer
    }

    /// Answers when its task is cancelled, not before.
    static func hanging() -> ScriptedService {
        ScriptedService { _ in
            try? await Task.sleep(for: .seconds(60))
            return .pong(pid: 0)
        }
    }

    func respond(to request: ControlRequest) async -> ControlResponse {
        requests.withLock { $0.append(request) }
        let response = await answer(request)
        if Task.isCancelled { cancellations.withLock { $0 += 1 } }
        return response
    }
}

let silentLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A server in a folder of its own.
struct TestServer {
    let folder: TemporaryFolder
    let server: ControlServer
    let service: ScriptedService
    var client: ControlClient { ControlClient(socketPath: folder.socket) }

    static func with<Result>(
        _ service: ScriptedService = ScriptedService(),
        _ body: (TestServer) async throws -> Result
    ) async throws -> Result {
        let folder = try TemporaryFolder()
        let server = ControlServer(
            socketPath: folder.socket, service: service, logger: silentLogger)
        try await server.start()
        do {
            let result = try await body(TestServer(folder: folder, server: server, service: service))
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }
}

/// Runs what blocks on a thread of its own.
func offPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// Waits until `condition` holds, at most a minute; whether it does.
func eventually(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<6_000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

/// A socket without manners.
struct RawSocket: Sendable {
    let descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result != 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// What was taken; the server may hang up in the middle.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { break }
            sent += count
        }
        return sent
    }

    func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    func hangUp() { close(descriptor) }

    /// Exactly `count` bytes, or fewer when the server hung up.
    func receive(_ count: Int) -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while result.count < count {
            let got = recv(descriptor, &buffer, min(buffer.count, count - result.count), 0)
            if got <= 0 { break }
            result += buffer[..<got]
        }
        return result
    }

    /// The next answer; nil when the server hung up.
    func receiveResponse() throws -> ControlResponse? {
        let head = receive(4)
        guard head.count == 4 else { return nil }
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        return try JSONDecoder().decode(ControlResponse.self, from: Data(receive(length)))
    }

    /// Whether the server has hung up (waits up to thirty seconds for it).
    func isHungUp() -> Bool {
        var byte: UInt8 = 0
        let got = recv(descriptor, &byte, 1, 0)
        return got == 0 || (got < 0 && errno == ECONNRESET)
    }

    static func frame(_ json: some Collection<UInt8>) -> [UInt8] {
        withUnsafeBytes(of: UInt32(json.count).bigEndian) { Array($0) } + json
    }

    static func frame(_ request: ControlRequest) throws -> [UInt8] {
        frame(try JSONEncoder().encode(request))
    }
}

/// The failure's code, or nil when `response` is none.
func failureCode(_ response: ControlResponse?) -> String? {
    guard case .failure(let failure) = response else { return nil }
    return failure.code
}
