import Foundation
import MountHarness

/// A program in a terminal (tmux), which is typed into and looked at.
final class TerminalSession {
    private let mount: MountedStore
    private let environment: [String: String]
    /// Its own: the server of a terminal that has just ended may still be there, and on its way out.
    private let server = "picker-\(UUID().uuidString.prefix(8))"

    /// Behind the names of its files in `$SCRATCH`, for those who have several terminals.
    private let suffix: String

    /// - Parameter command: for a shell; its output is in `$SCRATCH/out`, its exit status in `$SCRATCH/status`.
    init(_ mount: MountedStore, _ command: String, rows: Int = 14, columns: Int = 80, suffix: String = "") throws {
        self.mount = mount
        self.suffix = suffix
        environment = mount.environment.merging(["TMUX_TMPDIR": mount.sandbox.scratch]) { $1 }
        try? FileManager.default.removeItem(atPath: mount.scratch + "/status" + suffix)
        let wrapped =
            "\(command) > \"$SCRATCH/out\(suffix)\"; echo $? > \"$SCRATCH/status.new\"; mv \"$SCRATCH/status.new\" \"$SCRATCH/status\(suffix)\"; exec sleep 600"
        try tmux(["-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", wrapped])
    }

    /// The server of the terminal, and with it what runs in it.
    func end() { _ = try? tmux(["kill-server"]) }

    @discardableResult
    private func tmux(_ words: [String]) throws -> String {
        let result = try mount.sandbox.run(["tmux", "-u", "-L", server] + words, environment: environment, limit: 10)
        guard result.succeeded else { throw HarnessError("tmux \(words): \(result)") }
        return result.stdout
    }

    /// As send-keys of tmux(1) has it: `Enter`, `C-n`, `Down`; or text.
    func send(_ keys: String...) throws { try tmux(["send-keys"] + keys) }

    func type(_ text: String) throws { try tmux(["send-keys", "-l", text]) }

    /// Lines without the blanks at their ends, and without the empty ones below.
    func screen() throws -> String {
        let lines = try tmux(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false).map {
            line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        return lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
    }

    /// Waits for a screen with this on it, which stays as it is for a moment.
    @discardableResult
    func until(_ texts: String..., without absent: String? = nil, seconds: Double = 15) throws -> String {
        var last = ""
        do {
            try waitUntil(seconds, "the screen shows \(texts)") {
                let now = try screen()
                defer { last = now }
                return now == last && texts.allSatisfy { now.contains($0) }
                    && !(absent.map { now.contains($0) } ?? false)
            }
        } catch { throw HarnessError("\(error)\n\(last)") }
        return last
    }

    /// What the command printed, once it has ended.
    func result() throws -> (status: String, output: String) {
        func file(_ name: String) -> String? {
            try? String(contentsOfFile: mount.scratch + "/" + name + suffix, encoding: .utf8)
        }
        try waitUntil(20, "the command ends") { file("status") != nil }
        return ((file("status") ?? "").trimmingCharacters(in: .newlines), file("out") ?? "")
    }
}
