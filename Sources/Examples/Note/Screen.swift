import Foundation

/// A terminal in raw mode (termios(3), console_codes(4)).
@MainActor
final class Screen {
    private var before = termios()
    private(set) var (rows, columns) = (24, 80)
    private var signals: [any DispatchSourceSignal] = []

    func begin(_ onEvent: @escaping @Sendable (Note.Event) -> Void) {
        tcgetattr(0, &before)
        var raw = before
        cfmakeraw(&raw)
        tcsetattr(0, TCSAFLUSH, &raw)
        write("\u{1b}[?1049h")
        for (number, event) in [(SIGWINCH, Note.Event.changed), (SIGHUP, .lost), (SIGTERM, .lost)] {
            signal(number, SIG_IGN)
            signals.append(DispatchSource.makeSignalSource(signal: number))
            signals.last?.setEventHandler { onEvent(event) }
            signals.last?.resume()
        }
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(0, &buffer, buffer.count)
                if count <= 0 { return onEvent(.lost) }
                onEvent(.input(Array(buffer[..<count])))
            }
        }
    }

    func end() {
        write("\u{1b}[?1049l")
        tcsetattr(0, TCSAFLUSH, &before)
    }

    private func write(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }

    /// The cursor stands in the row, after the text `before`.
    func draw(_ lines: [[Character]], status: String, hints: String, row: Int, before: [Character]) {
        var size = winsize()
        if ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 3, size.ws_col > 10 {
            (rows, columns) = (Int(size.ws_row), Int(size.ws_col))
        }
        // Scroll long lines so that the cursor is visible.
        let place = Self.width(before)
        let skipped = max(0, place - columns + 1)
        var text = "\u{1b}[?25l\u{1b}[H"
        for index in 0..<rows - 2 {
            text += (index < lines.count ? cut(lines[index], from: skipped) : "") + "\u{1b}[K\r\n"
        }
        text += "\u{1b}[7m" + cut(Array(status), from: 0) + "\u{1b}[K\u{1b}[0m\r\n" + cut(Array(hints), from: 0)
        write(text + "\u{1b}[K\u{1b}[\(min(row, rows - 3) + 1);\(place - skipped + 1)H\u{1b}[?25h")
    }

    private func cut(_ line: [Character], from skipped: Int) -> String {
        var (result, place) = ("", 0)
        for character in line {
            let end = place + Self.width([character])
            if end > skipped + columns { break }
            if place >= skipped { result += character == "\t" ? " " : Self.plain(String(character)) }
            place = end
        }
        return result
    }

    /// Replaces characters that would move the cursor, or hide something, by a question mark, of one column.
    static func plain(_ text: String) -> String { String(text.map { shownWidth($0) == nil ? "?" : $0 }) }
    private static func width(_ text: [Character]) -> Int { text.reduce(0) { $0 + (shownWidth($1) ?? 1) } }

    private static func shownWidth(_ character: Character) -> Int? {
        let hidden: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator, .unassigned]
        for part in character.unicodeScalars where part != "\u{200d}" {
            if hidden.contains(part.properties.generalCategory) { return nil }
        }
        let wide: [ClosedRange<UInt32>] = [0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xff00...0xff60]
        let first = character.unicodeScalars.first!.value
        return first >= 0x1f300 || wide.contains { $0.contains(first) } ? 2 : 1
    }
}

/// A terminal's input: characters, which may come in parts (`rest`), and sequences that begin with an escape.
struct Keys {
    static let (up, down, right, left) = ("\u{1b}[A", "\u{1b}[B", "\u{1b}[C", "\u{1b}[D")
    static let (home, end, delete, backspace) = ("\u{1b}[1~", "\u{1b}[4~", "\u{1b}[3~", "\u{7f}")
    static let (pageUp, pageDown) = ("\u{1b}[5~", "\u{1b}[6~")
    static func control(_ letter: Unicode.Scalar) -> String { String(UnicodeScalar(UInt8(letter.value) & 0x1f)) }
    private var rest: [UInt8] = []

    mutating func split(_ bytes: [UInt8]) -> [String] {
        rest += bytes
        var keys = [String]()
        while let first = rest.first {
            var length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
            if first == 0x1b {
                length = (rest.dropFirst(2).firstIndex { (0x40...0x7e).contains($0) } ?? rest.count - 1) + 1
            }
            if rest.count < length { break }
            keys.append(String(decoding: rest.prefix(length), as: UTF8.self))
            rest.removeFirst(length)
        }
        return keys
    }
}
