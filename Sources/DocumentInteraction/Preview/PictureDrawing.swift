import ChildProcess
import Foundation

/// Draws a picture in characters, with chafa where that is installed.
enum PictureDrawing {
    private static let patience = Duration.seconds(20)

    /// Nil: chafa is not installed, or cannot read the picture.
    static func draw(
        _ path: String, _ stop: ChildProcess.Stop, size: String = "80x24"
    ) throws -> (plain: [String], colored: [String])? {
        func run(_ colors: String) throws -> [String]? {
            let words = [
                "chafa", "--format", "symbols", "--animate", "off", "--size", size, "--colors", colors, "--", path,
            ]
            let bounded = BoundedProgram.words(words, seconds: 2 * patience.components.seconds)
            let ending = try? ChildProcess(bounded, limit: patience, mostPrinted: 1 << 20, stop: stop).run(
                reading: .standardOutputAlone)
            if stop.isSet { throw CancellationError() }
            guard let ending, ending.status == 0, !ending.printed.isEmpty else { return nil }
            return String(decoding: ending.printed, as: UTF8.self).split(separator: "\n").map { harmless(String($0)) }
        }
        guard let plain = try run("none"), let colored = try run("256"), plain.contains(where: { !$0.isEmpty }) else {
            return nil
        }
        return (plain.map { $0.replacing(/\u{1b}\[[0-9;]*m/, with: "") }, colored)
    }

    /// Keeps characters and colours, and drops every other control sequence.
    static func harmless(_ line: String) -> String {
        var (text, rest) = ("", line.unicodeScalars[...])
        while let scalar = rest.popFirst() {
            if scalar == "\u{1b}", rest.first == "[" {
                let body = rest.dropFirst().prefix { "0123456789;".unicodeScalars.contains($0) }
                let end = rest.dropFirst(1 + body.count).first
                if end == "m" { text += "\u{1b}[" + String(String.UnicodeScalarView(body)) + "m" }
                // Skip another sequence, up to its final character: `?25l`.
                while let next = rest.popFirst(), !(0x40...0x7e).contains(next.value) || next == "[" {}
            } else if scalar.value >= 0x20, !(0x7f..<0xa0).contains(scalar.value) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
