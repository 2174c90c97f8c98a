import Foundation
import MountHarness
import Testing

@Suite("The trace of a crash")
struct CrashTraceTests {
    @Test("a daemon that crashes writes its trace to the log, without contents of its memory")
    func registers() async throws {
        try await withSandbox { mount in
            // (To look up the names of all functions would take a minute.)
            let mounted = try mount.sandbox.run(
                [Sandbox.executable] + mount.mountCommand(),
                environment: mount.environment.merging(["SWIFT_BACKTRACE": "symbolicate=off"]) { $1 }, limit: 20)
            #expect(mounted.succeeded, "\(mounted)")
            let pid = try mount.daemonPID()
            let environment = try #require(FileManager.default.contents(atPath: "/proc/\(pid)/environ"))
            #expect(environment.range(of: Data("SWIFT_BACKTRACE=symbolicate=off,registers=none\0".utf8)) != nil)
            #expect(kill(pid, SIGILL) == 0)
            // (A signal from outside is over with its trace: the daemon goes on.)
            var log = ""
            try waitUntil(30, "the trace is written") {
                log = (try? String(contentsOfFile: mount.sandbox.log, encoding: .utf8)) ?? ""
                return log.contains("Backtrace took")
            }
            #expect(
                log.contains("Program crashed") && !log.contains("Registers:") && !log.contains("rsp 0x"),
                "\(log.suffix(2_000))")
        }
    }
}
