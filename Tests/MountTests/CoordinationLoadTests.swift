import ControlAPI
import Foundation
import MountHarness
import Testing

/// Many processes coordinate at random, some are killed: nobody overlaps a writer, nothing is left, nobody waits for ever.
@Suite("Coordination under load")
struct CoordinationLoadTests {
    private static let processes = 16
    private static var seconds: Double {
        ProcessInfo.processInfo.environment["HYDRANT_TEST_COORDINATION_SECONDS"].flatMap(Double.init) ?? 8
    }

    private struct Counts: Decodable {
        var reads: Int, writes: Int, folders: Int, nested: Int
        var deadlocks: Int, timeouts: Int, otherErrors: Int, overlaps: Int
        var longest: Double
        var firstError: String?
    }

    private struct Killed: Sendable {
        var processes = 0
    }

    @Test("16 processes, 1,000 items, random intents, some killed")
    func load() async throws {
        let seconds = Self.seconds
        let options = MountOptions.with { options in
            options.isAlone = true
            options.limit = seconds + 60
        }
        try await withMount(options) { store in
            for folder in 0..<20 {
                for document in 0..<50 { try Seeding(store).file("f\(folder)/d\(document)", "\(folder) \(document)\n") }
            }
        } _: { mount in
            try mount.run(
                "mkdir \"$SCRATCH/marks\"; cd \"$SCRATCH/marks\"; mkdir f{0..19}; ls -R \"$MOUNT\" >/dev/null")
            let program = URL(filePath: Sandbox.executable).deletingLastPathComponent()
                .appending(path: "hydrant-coordination-load").path
            let start = ContinuousClock.now
            let end = start + .seconds(seconds)
            func begin(_ seed: Int) throws -> ChildProcess {
                let left = max(1, ContinuousClock.now.duration(to: end) / .seconds(1))
                return try mount.start(
                    "exec '\(program)' \"$MOUNT\" \"$SCRATCH/marks\" \(seed) \(left)")
            }
            var running = try (0..<Self.processes).map(begin)
            var seed = Self.processes
            var killed = 0
            while ContinuousClock.now + .seconds(3) < end {
                usleep(700_000)
                let victim = seed % Self.processes
                running[victim].destroy()
                _ = running[victim].wait(limit: 10)
                killed += 1
                running[victim] = try begin(seed)
                seed += 1
            }
            var all: [Counts] = []
            for process in running {
                let result = process.wait(limit: seconds + 30)
                #expect(result.succeeded, "\(result)")
                all.append(try JSONDecoder().decode(Counts.self, from: Data(result.stdout.utf8)))
            }
            let total = { (key: KeyPath<Counts, Int>) in all.reduce(0) { $0 + $1[keyPath: key] } }
            print(
                "coordination: \(Self.processes) processes, \(seconds) s, \(killed) killed; of those that lived: "
                    + "\(total(\.reads)) reads, \(total(\.writes)) writes (\(total(\.folders)) of folders), "
                    + "\(total(\.nested)) within others, \(total(\.deadlocks)) refused, \(total(\.timeouts)) timed out, "
                    + "longest wait \(all.map(\.longest).max() ?? 0) s")
            #expect(total(\.overlaps) == 0)
            #expect(total(\.timeouts) == 0)
            #expect(total(\.otherErrors) == 0, "\(all.compactMap(\.firstError).first ?? "")")
            #expect(total(\.reads) > 100 && total(\.writes) > 100)
            #expect(killed > 0 && total(\.nested) > 0)
            let left = try mount.run("\"$HYDRANT\" claims --json \"$MOUNT\"")
            #expect(left.trimmingCharacters(in: .whitespacesAndNewlines).filter { $0 != "\n" && $0 != " " } == "[]")
        }
    }
}
