import ChildProcess
import Foundation

/// A document in the forms that pasting programs take.
public struct ClipboardContents: Sendable, Hashable {
    /// `text/uri-list` (RFC 2483), for file managers.
    public let uriList: String
    /// The path, for programs that take text only.
    public let text: String
}

/// The desktop's clipboard, through the programs that set it.
enum Clipboard {
    private static let patience = Duration.seconds(10)

    /// Blocks.
    static func set(_ contents: ClipboardContents) throws {
        let environment = ProcessInfo.processInfo.environment
        var tried: [String] = []
        var ways: [[String]] = []
        if environment["WAYLAND_DISPLAY"] != nil { ways.append(["wl-copy", "--type", "text/uri-list"]) }
        if environment["DISPLAY"] != nil { ways.append(["xclip", "-selection", "clipboard", "-t", "text/uri-list"]) }
        guard !ways.isEmpty else {
            throw DocumentInteractionError(.failed, "there is no clipboard here; run this in a desktop session")
        }
        for words in ways {
            do {
                let ending = try ChildProcess(words, limit: patience).run(
                    input: Array(contents.uriList.utf8), reading: .standardError)
                if ending.status == 0 { return }
                let said = String(decoding: ending.printed, as: UTF8.self)
                throw DocumentInteractionError(.failed, "\(words[0]): \(said.isEmpty ? "\(ending.status)" : said)")
            } catch let failure as ChildProcess.Failure {
                guard case .notStarted(let code) = failure, code == ENOENT else {
                    throw DocumentInteractionError(.failed, "\(words[0]): \(failure)")
                }
                tried.append(words[0] == "wl-copy" ? "wl-clipboard" : "xclip")
            }
        }
        throw DocumentInteractionError(
            .missingProgram, "the clipboard needs \(tried.joined(separator: " or ")), which is not installed")
    }
}
