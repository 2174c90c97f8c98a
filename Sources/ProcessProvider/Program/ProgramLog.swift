import CLinux
import Foundation
package import Logging
import NIOCore
import NIOPosix
import Surroundings
import Synchronization

/// Passes what a program prints to its standard error, and its `log` messages, to the daemon's log: lines of bounded
/// length, and a bounded number of them.
package final class ProgramLog: Sendable {
    private struct State {
        var since = ContinuousClock.now
        var lines = 0
        var dropped = 0
    }
    private let state = Mutex(State())
    private let logger: Logger
    private let name: String
    /// In bytes; what follows is dropped.
    private static let longestLine = 1_000
    /// The most lines in ``period``.
    private static let mostLines = 200
    private static let period = Duration.seconds(60)

    package init(name: String, logger: Logger) {
        self.name = name
        self.logger = logger
    }

    package func add(_ text: String, level: Logger.Level = .notice) {
        let (isShown, dropped) = state.withLock { state -> (Bool, Int) in
            var dropped = 0
            if ContinuousClock.now - state.since > Self.period {
                dropped = state.dropped
                state = State()
            }
            state.lines += 1
            if state.lines > Self.mostLines { state.dropped += 1 }
            return (state.lines <= Self.mostLines, dropped)
        }
        if dropped > 0 { logger.notice("\(name): \(dropped) lines were left out") }
        guard isShown else { return }
        let line = String(decoding: text.utf8.prefix(Self.longestLine), as: UTF8.self)
        logger.log(level: level, "\(name): \(ShownText.line(line))")
    }

    /// A descriptor for a program's standard error, to be closed when the program has it; nil: none can be made.
    package func descriptor() async -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends, O_CLOEXEC) == 0 else { return nil }
        let (own, other) = (ends[0], ends[1])
        do {
            let stream: NIOAsyncChannel<ByteBuffer, Never> = try await NIOPipeBootstrap(
                group: .singletonMultiThreadedEventLoopGroup
            ).takingOwnershipOfDescriptor(input: own) { channel in
                channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
            }
            Task { try? await follow(stream) }
            return other
        } catch {
            close(other)
            return nil
        }
    }

    private func follow(_ stream: NIOAsyncChannel<ByteBuffer, Never>) async throws {
        var line: [UInt8] = []
        func flush() {
            if !line.isEmpty { add(String(decoding: line, as: UTF8.self)) }
            line = []
        }
        try await stream.executeThenClose { inbound in
            for try await buffer in inbound {
                for byte in buffer.readableBytesView {
                    if byte == UInt8(ascii: "\n") {
                        flush()
                    } else if line.count < Self.longestLine {
                        line.append(byte)
                    }
                }
            }
        }
        flush()
    }
}
