import ArgumentParser
import ControlAPI
import Foundation
import Glibc
import Surroundings

/// Prints a line, whatever names are in it. (In place of Swift's own, which would print them raw.)
func print(_ line: String, terminator: String = "\n") {
    Swift.print(ShownText.line(ByteText.shown(line)), terminator: terminator)
}

func print(_ lines: [String]) { for line in lines { print(line) } }

func print(_ json: JSONText) { Swift.print(json.text) }

/// What a program reads: its line ends are its own, and no name in it does anything to a terminal.
struct JSONText {
    let text: String

    init(_ text: String) { self.text = ShownText.json(text) }
}

/// Standard output for what comes line by line for as long as somebody reads it.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ lines: [String]) throws(ExitCode) {
        try writeRaw(lines.map { shown($0) + "\n" }.joined().utf8)
    }

    static func write(_ json: JSONText) throws(ExitCode) { try writeRaw((json.text + "\n").utf8) }

    /// Paths, a line each. Programs get them as they are.
    static func write(paths: [String]) throws(ExitCode) {
        try isTerminal ? write(paths) : writeRaw(ByteText.bytes(paths.map { $0 + "\n" }.joined()))
    }

    /// Paths as they are, each ended by a NUL.
    static func write(nullTerminated paths: [String]) throws(ExitCode) {
        try writeRaw(paths.flatMap { ByteText.bytes($0) + [0] })
    }

    /// From the top, over what was there; what is left of it goes at last: nothing flickers.
    static func redraw(_ lines: [String]) throws(ExitCode) {
        try writeRaw(("\u{1b}[H" + lines.map { shown($0) + "\u{1b}[K\n" }.joined() + "\u{1b}[J").utf8)
    }

    /// (The characters that stand for bytes become none of those: a name with some of them could begin anything.)
    private static func shown(_ line: String) -> String { ShownText.line(ByteText.shown(line)) }

    /// Written when it returns, also into a pipe. When nobody reads any more (`| head`) the command ends as it would
    /// by SIGPIPE, which the network library keeps from us.
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
