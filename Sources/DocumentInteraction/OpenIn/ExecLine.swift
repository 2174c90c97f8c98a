import CGIO
import ControlAPI
import Foundation

/// The command line in a desktop entry.
///
/// Source: freedesktop.org, *Desktop Entry Specification* 1.5, "The Exec key".
enum ExecLine {
    /// The words that open a document. A command line without a field code for the document gets the path as its last
    /// word, as in GIO.
    ///
    /// - Throws: ``DocumentInteractionError`` when the command line is malformed.
    static func words(_ program: OpenInProgram, path: String) throws -> [String] {
        guard let split = split(program.exec), !split.isEmpty else {
            throw DocumentInteractionError(
                .notStarted,
                "\(program.name): “\(program.exec)” in \(program.entry ?? "its entry") is not a command line")
        }
        var (words, isGiven) = ([String](), false)
        for word in split {
            if word == "%i" {
                if let icon = program.icon { words += ["--icon", icon] }
                continue
            }
            let (expanded, hasPath) = expand(word, program, path)
            isGiven = isGiven || hasPath
            // Drop a word of a code that expands to nothing.
            if !expanded.isEmpty || !word.hasPrefix("%") { words.append(expanded) }
        }
        return isGiven ? words : words + [path]
    }

    private static func expand(_ word: String, _ program: OpenInProgram, _ path: String) -> (String, Bool) {
        var (text, isCode, hasPath) = ("", false, false)
        for character in word {
            guard isCode else {
                if character == "%" { isCode = true } else { text.append(character) }
                continue
            }
            isCode = false
            switch character {
            case "f", "F":
                text += path
                hasPath = true
            case "u", "U":
                text += FileURI.text(path) ?? path
                hasPath = true
            case "c": text += program.name
            case "k": text += program.entry ?? ""
            case "%": text += "%"
            // Deprecated and unknown codes.
            default: break
            }
        }
        return (text, hasPath)
    }

    /// Splits words like a shell, without a shell's other expansions.
    private static func split(_ line: String) -> [String]? {
        var (count, words): (gint, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) = (0, nil)
        guard g_shell_parse_argv(line, &count, &words, nil) != 0, let words else { return nil }
        defer { g_strfreev(words) }
        return (0..<Int(count)).compactMap { words[$0].map { String(cString: $0) } }
    }
}
