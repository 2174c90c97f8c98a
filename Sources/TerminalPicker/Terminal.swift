import CNcurses
import Glibc
import Surroundings

/// The controlling terminal, through ncurses.
///
/// `@unchecked Sendable`: it is handed over once, to the only thread that uses it from then on.
struct Terminal: @unchecked Sendable {
    enum Style {
        case plain, reverse, dim, bold

        var raw: Int32 {
            switch self {
            case .plain: Int32(TERMINAL_PLAIN)
            case .reverse: Int32(TERMINAL_REVERSE)
            case .dim: Int32(TERMINAL_DIM)
            case .bold: Int32(TERMINAL_BOLD)
            }
        }
    }

    enum Key: Equatable {
        case character(Unicode.Scalar)
        case control(Character)
        case up, down, left, right, pageUp, pageDown, home, end, backspace, enter, escape, f2, resized
    }

    private let screen: UnsafeMutableRawPointer
    private let input: UnsafeMutablePointer<FILE>
    private let output: UnsafeMutablePointer<FILE>

    /// Nil: there is no terminal. (Standard input and output belong to the calling program.)
    init?() {
        guard let input = fopen("/dev/tty", "re") else { return nil }
        guard let output = fopen("/dev/tty", "we") else {
            fclose(input)
            return nil
        }
        guard let screen = terminal_begin(input, output) else {
            fclose(input)
            fclose(output)
            return nil
        }
        self.screen = screen
        self.input = input
        self.output = output
    }

    func end() {
        terminal_end(screen)
        fclose(input)
        fclose(output)
    }

    var size: (rows: Int, columns: Int) {
        var (rows, columns): (Int32, Int32) = (0, 0)
        terminal_size(&rows, &columns)
        return (Int(rows), Int(columns))
    }

    func erase() { terminal_erase() }
    func refresh() { terminal_refresh() }

    /// Writes text, cut to the columns; shows an unprintable character as a replacement character.
    func write(_ text: String, row: Int, column: Int, width: Int, _ style: Style = .plain, fills: Bool = false) {
        guard width > 0, row >= 0 else { return }
        var line = Terminal.fit(text, width)
        if fills { line += String(repeating: " ", count: max(0, width - Terminal.width(line))) }
        terminal_write(Int32(row), Int32(column), line, style.raw)
    }

    func cursor(_ place: (row: Int, column: Int)?) {
        terminal_cursor(Int32(place?.row ?? -1), Int32(place?.column ?? 0))
    }

    /// The next key; nil: none in this time.
    func key(milliseconds: Int32) -> Key? {
        var character: UInt32 = 0
        switch Int(terminal_key(milliseconds, &character)) {
        case Int(TERMINAL_CHARACTER): return Self.key(of: character)
        case Int(TERMINAL_UP): return .up
        case Int(TERMINAL_DOWN): return .down
        case Int(TERMINAL_LEFT): return .left
        case Int(TERMINAL_RIGHT): return .right
        case Int(TERMINAL_PAGE_UP): return .pageUp
        case Int(TERMINAL_PAGE_DOWN): return .pageDown
        case Int(TERMINAL_HOME): return .home
        case Int(TERMINAL_END): return .end
        case Int(TERMINAL_BACKSPACE): return .backspace
        case Int(TERMINAL_ENTER): return .enter
        case Int(TERMINAL_F2): return .f2
        case Int(TERMINAL_RESIZED): return .resized
        default: return nil
        }
    }

    private static func key(of character: UInt32) -> Key? {
        if character == 27 { return .escape }
        if character < 32 { return .control(Character(Unicode.Scalar(UInt8(character) + 64))) }
        return Unicode.Scalar(character).map { .character($0) }
    }

    // MARK: Columns

    static func width(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + max(0, Int(terminal_width($1.value))) }
    }

    /// Wraps text to lines of at most `width` columns, between words where possible.
    static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: \.isWhitespace) {
            let longer = line.isEmpty ? String(word) : line + " " + word
            if Terminal.width(longer) <= width {
                line = longer
                continue
            }
            if !line.isEmpty { lines.append(line) }
            var rest = word[...]
            while Terminal.width(String(rest)) > width {
                var head = rest
                while Terminal.width(String(head)) > width { head = head.dropLast() }
                if head.isEmpty { break }
                lines.append(String(head))
                rest = rest[head.endIndex...]
            }
            line = String(rest)
        }
        return line.isEmpty ? lines : lines + [line]
    }

    /// Cuts text to `width` columns, with an ellipsis for the rest.
    static func fit(_ text: String, _ width: Int) -> String {
        var clean = String.UnicodeScalarView()
        for scalar in ShownText.line(text).unicodeScalars {
            clean.append(terminal_width(scalar.value) < 0 ? "\u{FFFD}" : scalar)
        }
        let whole = String(clean)
        if Terminal.width(whole) <= width { return whole }
        var fitting = String.UnicodeScalarView()
        var used = 0
        for scalar in clean {
            let next = max(0, Int(terminal_width(scalar.value)))
            if used + next > width - 1 { break }
            fitting.append(scalar)
            used += next
        }
        return String(fitting) + "…"
    }
}
