import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// Range by range: a reader goes on as soon as its bytes are here.
@Suite("Reading a large document while it is downloaded")
struct RangeTests {
    static let size: Int64 = 384 << 20

    /// Noise at the beginning, at 300 MiB and at the end, nothing between.
    static func seed(_ store: String) throws {
        try Seeding(store).file("large", noise(1 << 20))
        let handle = try FileHandle(forUpdating: URL(filePath: store + "/large", directoryHint: .notDirectory))
        try handle.seek(toOffset: 300 << 20)
        try handle.write(contentsOf: noise(1 << 20, seed: 2))
        try handle.seek(toOffset: UInt64(size) - 4_096)
        try handle.write(contentsOf: noise(4_096, seed: 3))
        try handle.close()
    }

    private static func downloads(_ mount: MountedStore) -> [Range<Int64>] {
        mount.hookCalls().filter { $0.hook == .startProvidingItem }.compactMap(\.range)
    }

    private static func waitForOutput(_ child: ChildProcess, _ text: String) throws {
        try waitUntil(20, "the reader prints \(text)") {
            if child.stdout.contains(text) { return true }
            guard child.isRunning else { throw HarnessError("the reader ended: \(child.wait(limit: 1))") }
            return false
        }
    }

    @Test(
        "the reader gets its first bytes while the rest is still being downloaded, and then all of them",
        arguments: [MountOptions(), .cached])
    func firstBytes(_ options: MountOptions) async throws {
        var options = options
        // Slow enough for "still" to be looked at.
        options.arguments = ["--limit-download", "4M"]
        try await withMount(options, seed: Self.seed) { mount in
            let reader = try mount.start(
                """
                exec python3 -uc '
                import hashlib, os
                file = open("large", "rb", buffering=0)
                first = file.read(4096)
                print("first", hashlib.sha256(first).hexdigest())
                while not os.path.exists(os.environ["SCRATCH"] + "/go"): pass
                digest = hashlib.sha256(first)
                while piece := file.read(1 << 20): digest.update(piece)
                print("all", digest.hexdigest())
                '
                """)
            try Self.waitForOutput(reader, "first")
            let status = try mount.status("large")
            #expect(status.state == .partial)
            #expect(status.bytesDownloaded > 0 && status.bytesDownloaded < Self.size)
            _ = try mount.hydrant(["limit", mount.mountPoint, "--download", "none"])
            // Nobody asks for more, but the document is open: the rest follows.
            try waitUntil(20, "the rest follows") { try mount.status("large").state == .downloaded }
            try mount.run("touch \"$SCRATCH/go\"")
            try Self.waitForOutput(reader, "all")
            let all = try mount.run("sha256sum < \"$STORE/large\"").prefix(64)
            #expect(reader.stdout.contains("all \(all)"))
            #expect(reader.wait(limit: 5).succeeded)
            #expect(Self.downloads(mount) == [0..<Self.size])
        }
    }

    @Test("two readers share one download", arguments: [MountOptions(), .cached])
    func shared(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let readers = try (0..<2).map { _ in try mount.start("sha256sum < large") }
            let sums = readers.map { $0.wait(limit: 30).stdout }
            let real = try mount.run("sha256sum < \"$STORE/large\"")
            #expect(sums == [real, real])
            // Every byte was asked for once.
            let ranges = Self.downloads(mount).sorted { $0.lowerBound < $1.lowerBound }
            #expect(ranges.reduce(0) { $0 + Int64($1.count) } == Self.size)
            #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
        }
    }

    @Test("a reader far into the document does not wait for the bytes before")
    func farAhead() async throws {
        try await withMount(seed: Self.seed) { mount in
            let shown = try mount.run("dd if=large bs=64k skip=4800 count=1 status=none | sha256sum")
            let real = try mount.run("dd if=\"$STORE/large\" bs=64k skip=4800 count=1 status=none | sha256sum")
            #expect(shown == real)
            #expect(try #require(Self.downloads(mount).first).lowerBound >= 299 << 20)
        }
    }

    @Test("closing the document stops the download")
    func closing() async throws {
        // So slow that the document is closed long before all of it could be here.
        try await withMount(.with { $0.arguments = ["--limit-download", "16M"] }, seed: Self.seed) { mount in
            try mount.run("head -c 4096 large >/dev/null")
            var bytes: [Int64] = []
            try waitUntil(10, "the download rests") {
                bytes.append(try mount.status("large").bytesDownloaded)
                return bytes.count >= 10 && Set(bytes.suffix(10)).count == 1
            }
            #expect(try #require(bytes.last) < Self.size)
            #expect(try mount.status("large").state == .partial)
            _ = try mount.hydrant(["limit", mount.mountPoint, "--download", "none"])
            // What is missing comes when it is read.
            #expect(
                try mount.run("tail -c 4096 large | sha256sum")
                    == mount.run("tail -c 4096 \"$STORE/large\" | sha256sum"))
        }
    }

    @Test("downloaded ranges survive a restart, and are not requested again")
    func partialSurvives() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("head -c 100000 large >/dev/null")
            try waitUntil(10, "the bytes are recorded") { try mount.status("large").bytesDownloaded >= 100_000 }
            try mount.unmount()
            try mount.mount()
            mount.forgetCalls()
            let before = try mount.status("large").bytesDownloaded
            #expect(before >= 100_000)
            let same = try mount.run("head -c 60000 large | cmp -n 60000 - \"$STORE/large\" && echo same")
            #expect(same == "same\n")
            #expect(Self.downloads(mount).allSatisfy { $0.lowerBound >= 60_000 })
        }
    }
}
