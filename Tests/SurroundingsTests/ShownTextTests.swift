import Foundation
import Testing

@testable import Surroundings

@Suite("Text with names in it")
struct ShownTextTests {
    @Test("a name stays on one line, and does nothing to a terminal; foreign letters are shown unchanged")
    func line() {
        #expect(ShownText.line("Ünïcödé 日本語 👩‍👩‍👧 שלום \\ \"x\"") == "Ünïcödé 日本語 👩‍👩‍👧 שלום \\ \"x\"")
        #expect(ShownText.line("a\nb\r\tc") == "a\\nb\\r\\tc")
        #expect(ShownText.line("\u{1b}]0;title\u{7}\u{0}") == "\\x1b]0;title\\x07\\x00")
        #expect(ShownText.line("\u{7f}\u{85}\u{9b}31m") == "\\x7f\\x85\\x9b31m")
        #expect(ShownText.line("a\u{2028}b\u{2029}c") == "a\\u{2028}b\\u{2029}c")
        #expect(ShownText.line("cod.\u{202e}gpj.exe\u{2066}") == "cod.\\u{202e}gpj.exe\\u{2066}")
        #expect(ShownText.line("a\u{200f}b\u{200e}c\u{61c}d") == "a\\u{200f}b\\u{200e}c\\u{61c}d")
        #expect(ShownText.line("x\u{feff}\u{200b}y\u{e0001}\u{e0041}") == "x\\u{feff}\\u{200b}y\\u{e0001}\\u{e0041}")
        // One character to Swift, two to a terminal.
        #expect(ShownText.line("a\r\nb") == "a\\r\\nb")
        #expect(ShownText.lines("a\nb\u{1b}[2J\n") == "a\nb\\x1b[2J\n")
    }

    @Test("every unescaped scalar is printable, and no control or direction mark is left")
    func allScalars() {
        // Bidi_Control, of which Swift knows nothing (PropList.txt).
        let turning = [0x061C...0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069]
        // Of what is ignored when text is shown, what Unicode calls format characters or has not assigned; but for the parts of
        // words: soft hyphen, joiners, vowels of scripts, and of notation (music, shorthand).
        let parts = [0xAD...0xAD, 0x180E...0x180E, 0x200C...0x200D, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A]
        for value in Array(0...0x1_FFFF) + Array(0xE0000...0xE007F) {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let category = scalar.properties.generalCategory
            let isHidden =
                scalar.properties.isDefaultIgnorableCodePoint && [.format, .unassigned].contains(category)
                && !parts.contains { $0.contains(value) }
            let isActive =
                [.control, .lineSeparator, .paragraphSeparator].contains(category) || isHidden
                || turning.contains { $0.contains(value) } || (0xFFF9...0xFFFB).contains(value)
            let isKept = ShownText.line(String(Character(scalar))).unicodeScalars.elementsEqual([scalar])
            if isKept == isActive { Issue.record("U+\(String(value, radix: 16))") }
        }
    }

    @Test("escaped JSON keeps its meaning, and has no control characters but its own line ends")
    func json() throws {
        let names = [
            "plain", "a\n\u{1b}[2J", "\u{7f}\u{9b}1m", "x\u{2028}y\u{202e}z", "\u{e0001}\u{feff}", "ü \\ \" 👩‍👩‍👧",
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        let text = ShownText.json(String(decoding: try encoder.encode(names), as: UTF8.self))
        #expect(try JSONDecoder().decode([String].self, from: Data(text.utf8)) == names)
        #expect(ShownText.lines(text) == text && text.contains("\n") && text.contains("\\udb40\\udc01"))
    }
}

@Suite("Base directories of a user")
struct BaseDirectoryTests {
    @Test("a variable that is empty or relative counts as unset, HOME included", arguments: BaseDirectory.allCases)
    func unset(_ directory: BaseDirectory) {
        let name = directory.rawValue
        let usual = directory.path(in: ["HOME": "/home/ada"])
        #expect(usual?.hasPrefix("/home/ada/.") == true)
        #expect(directory.path(in: [name: "/x/y", "HOME": "/home/ada"]) == "/x/y")
        for value in ["", "relative", "./x", "~/x"] {
            #expect(directory.path(in: [name: value, "HOME": "/home/ada"]) == usual)
            #expect(directory.path(in: [name: value, "HOME": value]) == nil)
        }
        #expect(directory.path(in: [:]) == nil)
    }

    @Test("shared data comes from the user, then from the machine; relative folders in the list are left out")
    func shared() {
        let machine = ["/usr/local/share", "/usr/share"]
        #expect(BaseDirectory.shared(in: ["HOME": "/h"]) == ["/h/.local/share"] + machine)
        #expect(BaseDirectory.shared(in: ["XDG_DATA_DIRS": ""]) == machine)
        #expect(BaseDirectory.shared(in: ["XDG_DATA_DIRS": "x:y"]) == machine)
        #expect(BaseDirectory.shared(in: ["XDG_DATA_HOME": "/d", "XDG_DATA_DIRS": "/a::b:/c"]) == ["/d", "/a", "/c"])
        #expect(BaseDirectory.runtime(in: ["XDG_RUNTIME_DIR": ""]) == nil)
        #expect(BaseDirectory.runtime(in: ["XDG_RUNTIME_DIR": "run"]) == nil)
        #expect(BaseDirectory.runtime(in: ["XDG_RUNTIME_DIR": "/run/user/7"]) == "/run/user/7")
    }
}

@Suite("Numbers from other programs")
struct BoundedNumberTests {
    @Test("an impossible time is not a time; sums and conversions end at the largest number")
    func bounds() {
        for seconds in [0, 0.5, 3_600, WaitingTime.longest] { #expect(WaitingTime.isPossible(seconds)) }
        for seconds in [-1, .nan, .infinity, 1e300, 1e9] { #expect(!WaitingTime.isPossible(seconds)) }
        #expect([Int64.max, 1, 5].boundedSum == .max && [1, 2, 3].boundedSum == 6)
        #expect(Int64.min.adding(atMost: -1) == .min)
        #expect(Int64(bounding: 1e300) == 1 << 62 && Int64(bounding: -.infinity) == -(1 << 62))
        #expect(Int64(bounding: .nan) == 0 && Int64(bounding: 7.9) == 7)
    }
}
