package import Foundation
import Glibc
package import MountHarness
import Synchronization

/// A proxy between a client and a test's server, over plain HTTP, that simulates faults of networks and servers.
///
/// One request per connection, each on a thread of its own.
package final class FaultProxy: Sendable {
    package enum Fault: Sendable {
        /// The proxy's own answer, verbatim; the server does not get the request.
        case reply(String)
        /// The same, but the server has carried out the request.
        case replyAfterwards(String)
        /// Resets the connection when the request has arrived.
        case reset
        /// Resets the connection after this many bytes of the server's answer, including its head.
        case cut(Int)
        /// Sends nothing for this many seconds, then closes the connection.
        case hang(Double)
        /// The server's answer, at this many bytes per second.
        case drip(Int)
        /// The server's answer, this many seconds later.
        case late(Double)
        /// The server's answer, with a text replaced in its first piece.
        case rewrite(String, String)
        /// The beginning of the proxy's own answer, and then a text again and again until the client closes, with this
        /// many milliseconds in between.
        case endless(String, again: String, pause: Int = 0)
        /// The proxy's own answer; the connection ends when the test signals.
        case endsLater(String, DispatchSemaphore)
    }
    /// Changes to every request and answer.
    package struct Manners: Sendable {
        /// A header field that is dropped from answers.
        package var hides: String?
        /// The host name that the server sees.
        package var host: String?
        package init() {}
    }
    private let manners: Manners
    private struct Rule: Sendable {
        /// Nil: every one that changes something.
        var method: String?
        var path: String?
        /// So many requests pass before.
        var passes = 0
        var times: Int
        var fault: Fault

        func fits(_ method: String, _ path: String) -> Bool {
            let isMethod = self.method.map { $0 == method } ?? FaultProxy.changes(method)
            return times > 0 && isMethod && (self.path.map { path.contains($0) } ?? true)
        }
    }
    private struct State {
        var rules: [Rule] = []
        var requests: [String] = []
    }
    private let state = Mutex(State())
    private let listener: Int32
    private let upstream: UInt16
    package let port: UInt16

    package convenience init(to server: TestServer, _ manners: Manners = Manners()) throws {
        try self.init(port: server.port, manners)
    }

    /// - Parameter port: of the server, on this machine.
    package init(port upstream: UInt16, _ manners: Manners = Manners()) throws {
        self.manners = manners
        self.upstream = upstream
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        port = try FreePort.find()
        var address = FreePort.loopback(port)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, listen(listener, 64) == 0 else { throw HarnessError("the proxy cannot listen") }
        let thread = Thread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 { return }
                // A child of another test would keep it open, and the client would not see the reset.
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread { self.serve(client) }.start()
            }
        }
        thread.start()
    }

    package func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Applies the fault to the next `times` requests with this method (and this text in their path).
    package func inject(_ fault: Fault, into method: String, path: String? = nil, times: Int = 1) {
        state.withLock { $0.rules.append(Rule(method: method, path: path, times: times, fault: fault)) }
    }

    /// Applies the fault to one request that changes something, whatever its method.
    ///
    /// - Parameter number: so many such requests pass before.
    package func injectIntoChange(_ number: Int, _ fault: Fault) {
        state.withLock { $0.rules.append(Rule(passes: number, times: 1, fault: fault)) }
    }

    /// The requests that change something, as `METHOD /path`.
    package var changes: [String] {
        requests.filter { Self.changes(String($0.prefix { $0 != " " })) }
    }

    private static func changes(_ method: String) -> Bool {
        !["GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT"].contains(method)
    }

    package func clear() { state.withLock { $0.rules = [] } }

    /// The requests, as `METHOD /path`.
    package var requests: [String] { state.withLock { $0.requests } }

    private func fault(_ method: String, _ path: String) -> Fault? {
        state.withLock { state in
            state.requests.append("\(method) \(path)")
            guard let index = state.rules.firstIndex(where: { $0.fits(method, path) }) else { return nil }
            if state.rules[index].passes > 0 {
                state.rules[index].passes -= 1
                return nil
            }
            state.rules[index].times -= 1
            return state.rules[index].fault
        }
    }

    // MARK: One request

    private func serve(_ client: Int32) {
        defer { close(client) }
        var head: [UInt8] = []
        var rest: [UInt8] = []
        while rest.isEmpty {
            guard let bytes = Self.receive(client), head.count < 1 << 20 else { return }
            head += bytes
            let text = String(decoding: head, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let count = text[..<end.upperBound].utf8.count
                rest = Array(head[count...])
                head = Array(head[..<count])
                break
            }
        }
        let text = String(decoding: head, as: UTF8.self)
        let words = text.split(separator: " ")
        guard words.count > 2 else { return }
        let fault = fault(String(words[0]), String(words[1]))
        switch fault {
        case .reply(let answer):
            Self.drain(client, rest, text)
            Self.send(client, Array(answer.utf8))
            return Self.lingeringClose(client)
        case .endless(let head, let again, let pause):
            Self.drain(client, rest, text)
            guard Self.send(client, Array(head.utf8)) else { return }
            let piece = Array(again.utf8)
            while Self.send(client, piece) { if pause > 0 { usleep(UInt32(pause) * 1_000) } }
            return
        case .endsLater(let answer, let isOver):
            Self.drain(client, rest, text)
            Self.send(client, Array(answer.utf8))
            _ = isOver.wait(timeout: .now() + 300)
            return Self.lingeringClose(client)
        case .reset: return Self.reset(client)
        case .hang(let seconds):
            usleep(UInt32(seconds * 1e6))
            return
        case .late(let seconds): usleep(UInt32(seconds * 1e6))
        default: break
        }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(server) }
        var address = FreePort.loopback(upstream)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return Self.reset(client) }
        var once = text.replacingOccurrences(of: "\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
        if let host = manners.host, let own = Self.field("host", text) {
            once = once.replacingOccurrences(of: "ost: \(own)\r\n", with: "ost: \(host)\r\n")
        }
        Self.send(server, Array(once.utf8) + rest)
        // The rest of the request, while the answer arrives.
        let length = Self.field("content-length", text).flatMap { Int($0) } ?? 0
        let outstanding = length - rest.count
        let pump = Thread {
            var left = outstanding
            while left > 0, let bytes = Self.receive(client) {
                left -= bytes.count
                if !Self.send(server, bytes) { break }
            }
        }
        pump.start()
        answer(client, server, fault)
    }

    private func answer(_ client: Int32, _ server: Int32, _ fault: Fault?) {
        var passed = 0
        var isHead = true
        while var bytes = Self.receive(server) {
            if case .replyAfterwards = fault { continue }
            if isHead, case .rewrite(let old, let new) = fault {
                var changed = Data(bytes)
                while let place = changed.range(of: Data(old.utf8)), old != new {
                    changed.replaceSubrange(place, with: new.utf8)
                    if new.contains(old) { break }
                }
                bytes = Array(changed)
            }
            if isHead, let hidden = manners.hides { bytes = Self.without(hidden, bytes) }
            isHead = false
            switch fault {
            case .cut(let most) where passed + bytes.count > most:
                Self.send(client, Array(bytes.prefix(most - passed)))
                usleep(50_000)
                return Self.reset(client)
            case .drip(let rate):
                for start in stride(from: 0, to: bytes.count, by: max(1, rate / 10)) {
                    guard Self.send(client, Array(bytes[start..<min(start + max(1, rate / 10), bytes.count)])) else {
                        return
                    }
                    usleep(100_000)
                }
            default:
                guard Self.send(client, bytes) else { return }
            }
            passed += bytes.count
        }
        if case .replyAfterwards(let answer) = fault { Self.send(client, Array(answer.utf8)) }
        Self.lingeringClose(client)
    }

    private static func without(_ field: String, _ bytes: [UInt8]) -> [UInt8] {
        var changed = Data(bytes)
        guard let start = changed.range(of: Data("\r\n\(field): ".utf8)),
            let end = changed.range(of: Data("\r\n".utf8), in: (start.lowerBound + 2)..<changed.endIndex)
        else { return bytes }
        changed.removeSubrange(start.lowerBound..<end.lowerBound)
        return Array(changed)
    }

    // MARK: Sockets

    private static func field(_ name: String, _ head: String) -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
            .map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
    }

    /// Unread bytes would turn the end of the connection into a reset, which could destroy the answer.
    private static func drain(_ client: Int32, _ rest: [UInt8], _ head: String) {
        var left = (field("content-length", head).flatMap { Int($0) } ?? 0) - rest.count
        while left > 0, let bytes = receive(client) { left -= bytes.count }
    }

    private static func lingeringClose(_ socket: Int32) { shutdown(socket, Int32(SHUT_WR)) }

    private static func reset(_ socket: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    private static func receive(_ socket: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }

    @discardableResult
    private static func send(_ socket: Int32, _ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }
}
