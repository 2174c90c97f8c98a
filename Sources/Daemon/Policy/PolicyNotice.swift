import ChildProcess
import ControlAPI
import Logging
import Surroundings

/// Asks the user whether a program may download: a desktop notification with two buttons (notify-send of libnotify
/// 0.8). Without a desktop or an answer, nothing changes.
struct PolicyNotice: Sendable {
    let mountPoint: String
    let logger: Logger
    /// The time limit for an answer.
    private static let patience: Duration = .seconds(120)

    /// Blocks until the user answers.
    ///
    /// - Returns: nil: the user did not answer.
    func ask(_ program: String) -> DownloadDecision? {
        let name = ShownText.line(program)
        logger.notice("a program wants to download documents", metadata: ["program": "\(program)"])
        let words = [
            "notify-send", "--app-name=Hydrant", "--icon=folder-download", "--expire-time=100000",
            "--action=allow=Allow", "--action=deny=Do not allow", "\(name) opens documents",
            // (Names must not act as markup in the notification's body.)
            Self.plain("May \(name) download documents in \(ShownText.line(mountPoint))?"),
        ]
        do {
            let ending = try ChildProcess(words, limit: Self.patience).run(reading: .standardOutput)
            let answer = String(decoding: ending.printed.prefix { $0 != 0x0A }, as: UTF8.self)
            return ending.status == 0 ? DownloadDecision(rawValue: answer) : nil
        } catch {
            logger.info("the user could not be asked", metadata: ["program": "\(program)", "error": "\(error)"])
            return nil
        }
    }

    private static func plain(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
