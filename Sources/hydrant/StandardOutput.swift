import ArgumentParser
import ControlAPI
import Foundation
import Glibc
import Surroundings

/// Prints a line, with names made safe for a terminal. (Hides Swift's own `print`, which would print names raw.)
func print(_ line: String, terminator: String = "\n") {
    Swift.print(ShownText.line(ByteText.shown(line)), terminator: terminator)
}

func print(_ lines: [String]) { for line in lines { print(line) } }

func print(_ json: JSONText) { Swift.print(json.text) }

/// JSON for programs. It keeps its line ends; JSON's escapes make names safe for a terminal.
struct JSONText {
    let text: String

    init(_ text: String) { self.text = ShownText.json(text) }
}

/// Standard output, line by line, for as long as somebody reads.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ lines: [String]) throws(ExitCode) {
        try writeRaw(lines.map { shown($0) + "\n" }.joined().utf8)
    }

    static func write(_ json: JSONText) throws(ExitCode) { try writeRaw((json.text + "\n").utf8) }

    /// Writes paths, a line each; programs get them unchanged.
    static func write(paths: [String]) throws(ExitCode) {
        try isTerminal ? write(paths) : writeRaw(ByteText.bytes(paths.map { $0 + "\n" }.joined()))
    }

    /// Writes unchanged paths, each ended by a NUL.
    static func write(nullTerminated paths: [String]) throws(ExitCode) {
        try writeRaw(paths.flatMap { ByteText.bytes($0) + [0] })
    }

    /// Overwrites the screen from the top and clears the rest at the end, so that nothing flickers.
    static func redraw(_ lines: [String]) throws(ExitCode) {
        try writeRaw(("\u{1b}[H" + lines.map { shown($0) + "\u{1b}[K\n" }.joined() + "\u{1b}[J").utf8)
    }

    /// Characters that stand for raw bytes are shown escaped, not written as bytes: these could begin an escape
    /// sequence.
    private static func shown(_ line: String) -> String { ShownText.line(ByteText.shown(line)) }

    /// Returns when all is written, also into a pipe. When the reader has closed the pipe (`| head`), ends the command
    /// as SIGPIPE would, which the network library ignores.
    private static func writeRaw(_ bytes: some Sequence<UInt8>) throws(ExitCode) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 {
                let code = errno
                signal(SIGPIPE, SIG_DFL)
                if code == EPIPE { raise(SIGPIPE) }
                throw fail("cannot write: \(String(cString: strerror(code)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}
