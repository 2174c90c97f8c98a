import Foundation
import MountHarness
import S3Harness
import Testing

/// Random sequences against the model (`hydrant-model-test`, a program of its own because it takes over clocks and the
/// scheduling of tasks), and those that once found something.
@Suite("Random operations against a model")
struct SequenceTests {
    private static let program = Sandbox.executable + "-model-test"

    /// A failure says the seed and the shortest sequence that fails.
    private func play(_ arguments: [String], limit: Double) async throws -> ChildResult {
        try await onThread {
            let sandbox = try Sandbox()
            let result = Result { try sandbox.run([Self.program] + arguments, limit: limit) }
            try sandbox.remove()
            return try result.get()
        }
    }

    /// Fresh ones each time (HYDRANT_MODEL_SEQUENCES says how many), and the same ones.
    @Test("random sequences", .timeLimit(.minutes(20)), arguments: [true, false])
    func random(areFresh: Bool) async throws {
        let fresh = ProcessInfo.processInfo.environment["HYDRANT_MODEL_SEQUENCES"].flatMap { Int($0) } ?? 5
        let seed = areFresh ? UInt64(Date().timeIntervalSince1970 * 1_000) * 1_000 : 1
        let count = areFresh ? fresh : 30
        for done in stride(from: 0, to: count, by: 20) {
            let first = seed + UInt64(done)
            let result = try await play(
                ["--seed", "\(first)", "--count", "\(min(20, count - done))", "--shrink", "/dev/null"], limit: 240)
            #expect(result.succeeded, "from seed \(first):\n\(result.stdout.suffix(8_000))\(result.stderr)")
            if !result.succeeded { return }
        }
    }

    /// The same operations as system calls, with SIGKILL.
    @Test("random sequences at a real mount", .timeLimit(.minutes(20)))
    func mounted() async throws {
        let seed = 1
        let result = try await play(
            ["--mount", "--seed", "\(seed)", "--count", "4", "--operations", "60", "--shrink", "/dev/null"], limit: 240)
        #expect(result.succeeded, "from seed \(seed):\n\(result.stdout.suffix(8_000))\(result.stderr)")
    }

    /// At a mount of a folder that Apache serves over HTTPS; HYDRANT_MODEL_WEBDAV says how many.
    @Test("random sequences at a mount over WebDAV", .timeLimit(.minutes(60)))
    func webdav() async throws {
        let count = ProcessInfo.processInfo.environment["HYDRANT_MODEL_WEBDAV"].flatMap { Int($0) } ?? 3
        let seed = ProcessInfo.processInfo.environment["HYDRANT_TEST_SEED"].flatMap { Int($0) } ?? 1
        try await withServer(.apache, .usual) { server in
            let password = server.directory + "/password"
            try (TestServer.password + "\n").write(toFile: password, atomically: true, encoding: .utf8)
            let settings = """
                user = "\(TestServer.user)"
                password-command = ["cat", "\(password)"]
                certificate-authority = "\(server.authority)"
                """
            let result = try await play(
                [
                    "--mount", "--server", server.url, "--folder", server.root, "--log",
                    server.directory + "/times", "--settings", settings, "--seed",
                    "\(seed)", "--count", "\(count)", "--operations", "60", "--shrink", "/dev/null",
                ], limit: 120 + 30 * Double(count))
            #expect(result.succeeded, "from seed \(seed):\n\(result.stdout.suffix(8_000))\(result.stderr)")
        }
    }

    /// At a mount of a bucket of SeaweedFS; HYDRANT_MODEL_S3 says how many.
    @Test("random sequences at a mount over S3", .timeLimit(.minutes(60)))
    func bucket() async throws {
        let count =
            ProcessInfo.processInfo.environment["HYDRANT_MODEL_S3"].flatMap { Int($0) } ?? (LongTests.areOn ? 3 : 1)
        let seed = ProcessInfo.processInfo.environment["HYDRANT_TEST_SEED"].flatMap { Int($0) } ?? 1
        try await withS3(.usual) { bucket in
            let password = bucket.server.directory + "/secret-key"
            try (S3TestServer.secretKey + "\n").write(toFile: password, atomically: true, encoding: .utf8)
            let settings = """
                endpoint = "\(bucket.endpoint)"
                user = "\(S3TestServer.accessKey)"
                password-command = ["cat", "\(password)"]
                """
            let result = try await play(
                [
                    "--mount", "--server", bucket.url, "--endpoint", bucket.endpoint, "--settings", settings, "--seed",
                    "\(seed)", "--count", "\(count)", "--operations", "60", "--shrink", "/dev/null",
                ], limit: 120 + 30 * Double(count))
            #expect(result.succeeded, "from seed \(seed):\n\(result.stdout.suffix(8_000))\(result.stderr)")
        }
    }

    /// Each found a fault once.
    @Test("kept sequences", arguments: replays())
    func replay(_ file: String) async throws {
        let result = try await play(["--replay", file], limit: 120)
        #expect(result.succeeded, "\(file):\n\(result.stdout.suffix(8_000))\(result.stderr)")
    }

    private static func replays() -> [String] {
        let folder =
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
            + "/ModelTest/Replays"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".txt") }.sorted().map { "\(folder)/\($0)" }
    }

    /// Else no failure could be looked into.
    @Test("a seed gives the same operations each time")
    func twice() async throws {
        let arguments = ["--seed", "4711", "--count", "5"]
        let result = try await play(arguments + ["--twice"], limit: 300)
        #expect(result.succeeded, "\(result)")
        let (one, other) = (try await play(arguments, limit: 300), try await play(arguments, limit: 300))
        #expect(one.lines.last == other.lines.last && one.lines.last?.contains("trace") == true, "\(one)\n\(other)")
    }
}
