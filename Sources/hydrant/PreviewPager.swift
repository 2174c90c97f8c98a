import ArgumentParser
import ControlAPI
import Dispatch
import DocumentInteraction
import Foundation
import Surroundings

/// Shows previews on a terminal, a screen at a time.
final class PreviewPager {
    private enum Event {
        case key(String)
        case loaded(Int, Result<Preview, DocumentInteractionError>)
        case progress(Int, DownloadProgress)
        case resized
        case interrupted
        /// A signal is to end this process.
        case ended(Int32)
    }

    private let controller: PreviewController
    private var preview: Preview?
    /// Shown instead of a preview.
    private var message = ""
    /// The index of the line at the top.
    private var top = 0
    private var statuses: [Int: Int32] = [:]
    private var loading: Task<Void, Never>?

    init(_ controller: PreviewController) { self.controller = controller }

    func run() async throws {
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let terminal = try RawTerminal { continuation.yield(.ended($0)) }
        defer { terminal.end() }
        var signal: Int32?
        terminal.keys { continuation.yield($0.map { .key($0) } ?? .interrupted) }
        let resizing = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: .global())
        resizing.setEventHandler { continuation.yield(.resized) }
        resizing.resume()
        defer { resizing.cancel() }
        load(continuation)
        draw(terminal)
        loop: for await event in events {
            switch event {
            case .interrupted: break loop
            case .ended(let number):
                signal = number
                break loop
            case .loaded(let index, let result) where index == controller.index: take(result)
            case .progress(let index, let progress) where index == controller.index && preview == nil:
                message = "downloading: \(Output.share(progress.bytes, progress.total))"
            case .loaded(_, .success(let late)): late.close()
            case .loaded, .progress, .resized: break
            case .key(let key):
                switch key {
                case "q", "\u{1b}", "\u{3}": break loop
                case "n", "\u{1b}[C": if controller.next() { load(continuation) }
                case "p", "\u{1b}[D": if controller.previous() { load(continuation) }
                default: move(key, terminal)
                }
            }
            draw(terminal)
        }
        terminal.end()
        loading?.cancel()
        // The cancelled task ends its child processes.
        await loading?.value
        preview?.close()
        continuation.finish()
        for await case .loaded(_, .success(let late)) in events { late.close() }
        if let signal { Interruption.end(by: signal) }
        if let status = statuses[controller.index] {
            warn(message)
            throw ExitCode(status)
        }
    }

    private func load(_ continuation: AsyncStream<Event>.Continuation) {
        loading?.cancel()
        preview?.close()
        (preview, message, top) = (nil, "one moment …", 0)
        let (controller, index) = (controller, controller.index)
        loading = Task {
            do {
                let preview = try await controller.preview { continuation.yield(.progress(index, $0)) }
                continuation.yield(.loaded(index, .success(preview)))
            } catch is CancellationError {
            } catch let error as DocumentInteractionError {
                continuation.yield(.loaded(index, .failure(error)))
            } catch { continuation.yield(.loaded(index, .failure(DocumentInteractionError(.failed, "\(error)")))) }
        }
    }

    private func take(_ result: Result<Preview, DocumentInteractionError>) {
        switch result {
        case .success(let preview):
            self.preview = preview
            statuses[controller.index] = nil
        case .failure(let error):
            message = error.message
            statuses[controller.index] = error.code == .nothingToShow ? CommandExit.nothingToShow : CommandExit.failed
        }
    }

    private func move(_ key: String, _ terminal: RawTerminal) {
        let height = max(1, terminal.size.rows - 1)
        switch key {
        case " ", "f", "\u{1b}[6~": top += height
        case "b", "\u{1b}[5~": top -= height
        case "j", "\r", "\n", "\u{1b}[B": top += 1
        case "k", "\u{1b}[A": top -= 1
        case "g", "\u{1b}[H": top = 0
        case "G", "\u{1b}[F": top = .max
        default: break
        }
    }

    /// All lines, as wide as the terminal, each with its page.
    private func lines(_ width: Int) -> [(text: String, page: Int)] {
        guard let preview else {
            return TextWidth.wrapped(ShownText.line(ByteText.shown(message)), width).map { ($0, 0) }
        }
        var lines: [(String, Int)] = []
        for page in preview.pages {
            if page.number > 1 { lines.append((String(repeating: "─", count: width), page.number)) }
            if let colored = page.coloredLines {
                lines += colored.map { ($0 + "\u{1b}[0m", page.number) }
            } else {
                lines += page.lines.flatMap { TextWidth.wrapped($0, width) }.map { ($0, page.number) }
            }
        }
        return lines + preview.notes.map { ("(" + ShownText.line($0) + ")", preview.pages.count) }
    }

    private func draw(_ terminal: RawTerminal) {
        let (rows, columns) = terminal.size
        let height = max(1, rows - 1)
        let all = lines(columns)
        top = max(0, min(top, all.count - height))
        let shown = all[top..<min(all.count, top + height)]
        var text = "\u{1b}[H"
        for line in shown { text += line.text + "\u{1b}[K\r\n" }
        for _ in shown.count..<height { text += "\u{1b}[K\r\n" }
        var state = " \(ShownText.line(ByteText.shown(preview?.title ?? controller.title)))"
        if controller.count > 1 { state += "  (\(controller.index + 1) of \(controller.count))" }
        if let preview, preview.pages.count > 1, let page = shown.first?.page {
            state += "  page \(page) of \(preview.pages.count)"
        }
        let isAtEnd = top + height >= all.count
        state += isAtEnd ? "  end" : "  \(100 * (top + height) / all.count) %"
        let keys = controller.count > 1 ? "   n: next  p: previous  q: end" : "   space: on  q: end"
        text += "\u{1b}[7m" + TextWidth.fitted(state + keys, columns - 1) + "\u{1b}[0m\u{1b}[K"
        terminal.write(text)
    }
}

/// A terminal in raw mode: delivers keys as they are pressed, and restores the mode afterwards.
final class RawTerminal {
    private var before = termios()
    private var isRaw = true
    private let signals: [any DispatchSourceSignal]

    /// - Parameter ended: called for a signal that is to end this process, with the terminal restored.
    init(ended: @escaping @Sendable (Int32) -> Void) throws {
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw fail("standard input is not a terminal") }
        var raw = before
        cfmakeraw(&raw)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw)
        let saved = before
        // Restore the terminal before a signal ends us.
        signals = [SIGTERM, SIGHUP, SIGINT].filter { !Interruption.isIgnored($0) }.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                var saved = saved
                RawTerminal.write("\u{1b}[?25h\u{1b}[?1049l")
                tcsetattr(STDIN_FILENO, TCSANOW, &saved)
                ended(number)
            }
            source.resume()
            return source
        }
        Self.write("\u{1b}[?1049h\u{1b}[?25l")
    }

    func end() {
        guard isRaw else { return }
        isRaw = false
        Self.write("\u{1b}[?25h\u{1b}[?1049l")
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    }

    /// - Parameter onKey: called for each key, a character or an escape sequence; nil: the input has ended.
    func keys(_ onKey: @escaping @Sendable (String?) -> Void) {
        Thread {
            var buffer = [UInt8](repeating: 0, count: 64)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return onKey(nil) }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                if text.hasPrefix("\u{1b}") { onKey(text) } else { for character in text { onKey(String(character)) } }
            }
        }.start()
    }

    var size: (rows: Int, columns: Int) {
        // struct winsize of ioctl_tty(2): rows, columns, and two unused fields.
        var size: [UInt16] = [0, 0, 0, 0]
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size[0] > 1, size[1] > 1 else { return (24, 80) }
        return (Int(size[0]), Int(size[1]))
    }

    func write(_ text: String) { Self.write(text) }

    private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
