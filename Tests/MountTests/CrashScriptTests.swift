import Foundation
import MountHarness
import Testing

/// The scripts that play kills and power cuts, in short. By hand they run for longer: see *Crashes* in the docs.
@Suite("Crash scripts")
struct CrashScriptTests {
    private static let scripts =
        URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path + "/scripts/"

    /// Its whole output; a failure when it ends with another status.
    private static func run(_ command: [String], _ mount: MountedStore, limit: Double) throws -> ChildResult {
        try mount.sandbox.run(
            [scripts + command[0]] + command.dropFirst(), environment: ["HYDRANT_EXECUTABLE": Sandbox.executable],
            limit: limit)
    }

    @Test("kills at random moments, also during recovery: no finished change is lost, here or in the store")
    func kills() async throws {
        let rounds = LongTests.areOn ? "100" : "25"
        try await withSandbox(.with { $0.limit = 600 }) { mount in
            let result = try Self.run(["crash-test", "--rounds", rounds, "--jobs", "2"], mount, limit: 580)
            #expect(result.succeeded, "\(result.stdout)\n\(result.stderr)")
        }
    }

    /// Where there are no loop devices, or not this file system, the script says so and ends with 77.
    @Test(
        "power cuts: fsynced data is there after the next boot, and no older version replaces anything in the store",
        arguments: ["ext4", "xfs", "btrfs"])
    func powerCuts(_ fileSystem: String) async throws {
        try await withSandbox(.with { $0.limit = 150 }) { mount in
            let result = try Self.run(["powerloss-test", "--cuts", "3", "--fs", fileSystem], mount, limit: 140)
            if result.status == 77 { return print("skipped: \(result.stderr)") }
            #expect(result.succeeded, "\(result.stdout)\n\(result.stderr)")
        }
    }

    @Test("a script that cannot be played says so in one line", arguments: ["crash-test", "powerloss-test"])
    func wrongUsage(_ script: String) async throws {
        try await withSandbox { mount in
            #expect(try Self.run([script, "--seed"], mount, limit: 10).status == 64)
            let count = script == "crash-test" ? "--rounds" : "--cuts"
            #expect(try Self.run([script, count, "many"], mount, limit: 10).status == 64)
            let help = try Self.run([script, "--help"], mount, limit: 10)
            #expect(help.status == 0 && help.stdout.contains("--seed S"))
        }
    }
}
