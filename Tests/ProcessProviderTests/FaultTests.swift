import FileProvider
import FileProviderTesting
import Foundation
import Logging
import MountHarness
import ProcessProvider
import Synchronization
import Testing

/// Programs that crash, hang, or do not keep to the protocol.
@Suite("A provider program that misbehaves")
struct FaultTests {
    private static var quick: ProgramPauses {
        var pauses = ProgramPauses()
        pauses.first = .milliseconds(20)
        return pauses
    }

    private static func read(_ name: String, _ provider: ProcessProvider) async throws -> [UInt8] {
        let item = try #require(try await Peer.items(provider)[name])
        let sink = CollectingSink(range: 0..<item.size)
        try await provider.startProvidingItem(
            item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        return try #require(sink.bytes)
    }

    private static func error(_ body: () async throws -> Void) async -> FileProviderError? {
        do { try await body() } catch { return error as? FileProviderError }
        return nil
    }

    /// Asks until the program is there again.
    private static func again(_ provider: ProcessProvider) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while await error({ _ = try await read("hello.txt", provider) }) != nil {
            try #require(ContinuousClock.now < deadline, "it was not started again")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test("a crash is a store that does not answer; the program is started again, and everything may have changed")
    func crash() async throws {
        let log = Lines()
        try await Peer.with(["faulty", "crashes"], pauses: Self.quick, logger: log.logger) { provider in
            try await provider.beginServing(ConformanceSuite.unmountedDomain(of: provider))
            let signals = provider.changeSignals()
            for _ in 0..<2 {
                let failure = await Self.error { _ = try await Self.read("crash.txt", provider) }
                #expect(
                    failure?.code == .serverUnreachable && failure?.isTransient == true,
                    "\(String(describing: failure))")
                try await Self.again(provider)
            }
            var found = signals.makeAsyncIterator()
            #expect(await found.next() == .everything)
        }
        let lines = log.all
        // What it prints is in the log, harmless; and why it was started again.
        #expect(lines.contains { $0.contains("serves\\x1b[31m") }, "\(lines)")
        #expect(lines.contains { $0.contains("signal 6") && $0.contains("started again after") }, "\(lines)")
    }

    @Test("a program that answers nothing any more is killed and started again", arguments: ["hangs", "neverAnswers"])
    func hang(_ fault: String) async throws {
        var patience = Patience()
        (patience.beforePing, patience.afterPing) = (.seconds(1), .seconds(2))
        (patience.silence, patience.afterCancel) = (.seconds(3), .seconds(2))
        try await Peer.with(["faulty", fault], patience: patience, pauses: Self.quick) { provider in
            let failure = await Self.error { _ = try await Self.read("hang.txt", provider) }
            #expect(failure?.code == .serverUnreachable, "\(String(describing: failure))")
            try await Self.again(provider)
        }
    }

    @Test(
        "a program that does not keep to the protocol from the start is refused, and told why",
        arguments: [
            ("prints", "does not keep to the protocol"), ("ends", "status 3"), ("silent", "has not said hello"),
            ("tooNew", "versions [7]"),
        ])
    func refused(_ fault: String, _ words: String) async throws {
        var patience = Patience()
        patience.start = .seconds(5)
        let failure = await Self.error { try await Peer.with(["faulty", fault], patience: patience) { _ in } }
        #expect(failure?.message.contains(words) == true, "\(String(describing: failure))")
    }

    @Test("no such program: the error names it")
    func missing() async throws {
        let command = Peer.command(["/no/such/program"])
        let failure = await Self.error { _ = try await ProcessProvider.start(command, logger: nil) }
        #expect(failure?.message == "program: cannot be started: No such file or directory")
    }

    @Test("at the end of a domain the program ends, and what it has left behind")
    func end() async throws {
        let log = Lines()
        try await Peer.with(["faulty", "leavesChild"], logger: log.logger) { provider in
            _ = try await Self.read("hello.txt", provider)
            try await waitForLines(log) { lines in lines.contains { $0.contains("serves") } }
        }
        let numbers = log.all.compactMap { line in
            line.split(separator: " ").compactMap { Int32($0) }.first
        }
        #expect(numbers.count == 2, "\(log.all)")
        for number in numbers {
            let deadline = ContinuousClock.now + .seconds(20)
            while kill(number, 0) == 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
            #expect(kill(number, 0) != 0, "\(number) is still there")
        }
    }

    private func waitForLines(_ log: Lines, _ condition: ([String]) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition(log.all) {
            try #require(ContinuousClock.now < deadline, "\(log.all)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

/// What was logged.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { lines.lines.withLock { $0.append("\(event.message)") } }
    }
}
