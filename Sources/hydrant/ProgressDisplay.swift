import ControlAPI
import Dispatch
import Foundation
import Surroundings

/// Shows a command's progress on standard error: a bar on a terminal, a line every few seconds elsewhere.
final class ProgressDisplay {
    /// Seconds between two lines where there is no terminal.
    private static let pause = 5.0

    private var lastLine = ProcessInfo.processInfo.systemUptime
    /// The bytes done at moments of the last few seconds, for the rate.
    private var seen: [(moment: Double, bytes: Int64)] = []
    private var isShown = false
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let interrupt: (any DispatchSourceSignal)?

    /// - Parameter isInterrupted: whether Ctrl-C ends this process at once; otherwise the caller handles it.
    init(isInterrupted: Bool = true) {
        guard isTerminal, isInterrupted else {
            interrupt = nil
            return
        }
        // At Ctrl-C remove the bar first. The daemon stops when the command's connection closes.
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            Self.write("\r\u{1b}[K")
            Interruption.end(by: SIGINT)
        }
        source.resume()
        interrupt = source
    }

    func show(_ progress: TransferProgress) {
        let now = ProcessInfo.processInfo.systemUptime
        seen.removeAll { now - $0.moment > 5 }
        let rate = seen.first.map { Double(progress.bytes - $0.bytes) / max(0.001, now - $0.moment) }
        seen.append((now, progress.bytes))
        let line = ProgressLine(progress: progress, rate: max(0, rate ?? 0))
        if isTerminal {
            Self.write("\r\(line.bar(width: Self.width()))\u{1b}[K")
            isShown = true
        } else if now - lastLine >= Self.pause {
            Self.write(ShownText.line(line.plain) + "\n")
            lastLine = now
        }
    }

    /// Removes the bar.
    func clear() {
        if isShown { Self.write("\r\u{1b}[K") }
        isShown = false
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

    /// In columns; read each time, because windows change.
    private static func width() -> Int {
        // struct winsize of ioctl_tty(2): rows, columns, and two unused fields.
        var size: [UInt16] = [0, 0, 0, 0]
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size[1] > 0 else { return 80 }
        return Int(size[1])
    }
}

/// One look at a progress, as text.
struct ProgressLine {
    let progress: TransferProgress
    /// Bytes a second.
    let rate: Double

    private var hasBytes: Bool { progress.bytesTotal > 0 }
    private var percent: Int {
        hasBytes
            ? Output.percent(progress.bytes, progress.bytesTotal)
            : Output.percent(Int64(progress.done), Int64(progress.total))
    }

    private var count: String { "\(progress.done) of \(progress.total)" }

    var plain: String {
        var parts = ["\(count) done"]
        if hasBytes { parts.append(Output.share(progress.bytes, progress.bytesTotal)) }
        if rate > 0 { parts.append("\(Output.bytes(Int64(bounding: rate)))/s") }
        if let path = progress.running.first?.path { parts.append(path) }
        return parts.joined(separator: ", ")
    }

    /// Always narrower than the terminal, which would otherwise begin a new line.
    func bar(width: Int) -> String {
        var text = hasBytes ? " \(percent) %  \(Output.share(progress.bytes, progress.bytesTotal, percent: false))" : ""
        if rate > 0 { text += "  \(Output.bytes(Int64(bounding: rate)))/s" }
        if rate > 0, hasBytes { text += "  \(left) left" }
        if progress.total > 1 || !hasBytes { text += "  \(count)" }
        if let path = progress.running.first?.path { text += "  " + (path.split(separator: "/").last ?? "") }
        let cells = max(10, min(30, width / 4))
        let full = cells * percent / 100
        let bar = "[" + String(repeating: "#", count: full) + String(repeating: ".", count: cells - full) + "]"
        return String((bar + ShownText.line(text)).prefix(max(1, width - 1)))
    }

    private var left: String {
        let seconds = Int64(
            bounding: (Double(max(0, progress.bytesTotal) - max(0, progress.bytes)) / rate).rounded(.up))
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7_200 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
    }
}
