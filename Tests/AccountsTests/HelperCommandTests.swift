import Foundation
import HTTPTransport
import Testing

@testable import Accounts

/// The command of a user's that prints a password.
@Suite(.timeLimit(.minutes(10))) struct HelperCommandTests {
    /// On a thread of its own, as the daemon does it.
    private func run(_ words: [String], limit: Duration = .seconds(60)) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread {
                continuation.resume(with: Result { try HelperCommand(words, limit: limit).run().revealed })
            }.start()
        }
    }

    private func shell(_ script: String, limit: Duration = .seconds(60)) async throws -> String {
        try await run(["sh", "-c", script], limit: limit)
    }

    private func failure(_ script: String, limit: Duration = .seconds(60)) async -> String {
        do { return "printed " + (try await shell(script, limit: limit)) } catch { return "\(error)" }
    }

    /// Runs a script that writes the number of a process that it leaves into `$1`; that one is ended in any case.
    private func leaving(_ script: (String) async throws -> Void) async throws -> pid_t {
        let file = NSTemporaryDirectory() + "helper-\(UUID().uuidString)"
        func left() -> pid_t? {
            (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { pid_t($0.dropLast()) }
        }
        defer { try? FileManager.default.removeItem(atPath: file) }
        do { try await script(file) } catch {
            if let pid = left(), pid > 1 { kill(pid, SIGKILL) }
            throw error
        }
        return try #require(left())
    }

    /// One that has ended and was not collected yet does not run.
    private func runs(_ pid: pid_t) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.range(of: ") ", options: .backwards)
        else { return false }
        return !"ZX".contains(text[end.upperBound])
    }

    /// An agent that a password manager starts has the command's output open for as long as it lives.
    @Test func whatItLeavesInTheBackgroundIsNotWaitedFor() async throws {
        let agent = try await leaving { file in
            let secret = try await shell("sleep 600 & echo $! > \(file); echo secret")
            #expect(secret == "secret")
        }
        #expect(runs(agent))
        kill(agent, SIGKILL)
    }

    @Test func theFirstLineIsThePassword() async throws {
        #expect(try await shell("printf 'one two\\nthree\\n'") == "one two")
        #expect(try await shell("printf 'without an end'") == "without an end")
        // It closes its output before it ends.
        #expect(try await shell("echo early; exec >&-; sleep 0.05") == "early")
        // More than a pipe holds.
        #expect(try await shell("echo first; head -c 300000 /dev/zero") == "first")
    }

    @Test func itSaysWhatWentWrong() async throws {
        #expect(await failure("echo half; exit 3").contains("status 3"))
        #expect(await failure("kill -9 $$").contains("status 137"))
        #expect(await failure(":").contains("printed nothing"))
        await #expect(throws: AccountError.self) { try await run(["/nonexistent/command"]) }
    }

    @Test func oneThatDoesNotEndIsEnded() async throws {
        let child = try await leaving { file in
            let script = "sleep 600 & echo $! > \(file); wait"
            let said = await failure(script, limit: .seconds(3))
            #expect(said.contains("in time"))
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while runs(child) && ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
        #expect(!runs(child))
        if runs(child) { kill(child, SIGKILL) }
        #expect(
            await failure("trap '' TERM; while :; do sleep 0.05; done", limit: .milliseconds(200)).contains("in time"))
    }
}
