import Foundation
import Glibc
import MountHarness
import Testing

/// A lost catalog loses nobody's work.
@Suite("hydrant rescue")
struct RescueTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("whole.txt", "whole\n")
        try seeding.file("partial.bin", noise(3_000_000))
        try seeding.file("renamed.txt", "renamed\n")
        try seeding.file("untouched.txt", "untouched\n")
        try seeding.file("folder/inner.txt", "inner\n")
    }
    static let late: [MountOptions] = [
        .lateUploads,
        .with {
            $0 = .lateUploads
            $0.passthrough = false
        },
    ]

    /// What `rescue.json` says of a file.
    private struct Entry: Decodable {
        var path: String
        var pathBytes: String?
        var originalPath: String?
        var identifier: String?
        var baseVersion: String?
        var size: Int
        var source: String
        var isPartial: Bool
    }

    private static func manifest(_ target: String) throws -> [String: Entry] {
        let data = try #require(FileManager.default.contents(atPath: target + "/rescue.json"))
        return Dictionary(try JSONDecoder().decode([Entry].self, from: data).map { ($0.path, $0) }) { first, _ in first
        }
    }

    /// All files below a folder, sorted.
    private static func files(_ mount: MountedStore, _ folder: String) throws -> [String] {
        try mount.sandbox.run(["find", folder, "-not", "-type", "d", "-printf", "%P\\n"], limit: 10).lines.sorted()
    }

    private static func loseCatalog(_ mount: MountedStore) throws {
        try mount.kill9()
        for suffix in ["", "-wal", "-shm"] { unlink(mount.sandbox.state + "/catalog.sqlite" + suffix) }
    }

    private static func rescue(_ mount: MountedStore, _ arguments: [String] = []) throws -> (ChildResult, String) {
        let target = mount.scratch + "/out"
        return (try mount.hydrant(["rescue", mount.sandbox.state, target] + arguments), target)
    }

    /// Runs a script outside of the mount, which may be dead.
    @discardableResult
    private static func outside(_ mount: MountedStore, _ script: String) throws -> String {
        let result = try mount.sandbox.run(
            ["bash", "-c", "set -e; cd \(mount.sandbox.state)/content\n" + script], limit: 10)
        guard result.succeeded else { throw HarnessError("“\(script)”: \(result)") }
        return result.stdout
    }

    @Test("kill -9, the catalog gone: every closed byte is rescued, under its name", arguments: late)
    func everything(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                cat untouched.txt folder/inner.txt whole.txt renamed.txt > /dev/null
                echo new > new.txt; chmod 640 new.txt; touch -d @1000000000.25 new.txt
                echo more >> whole.txt
                printf EDIT | dd of=partial.bin bs=1 seek=1000000 conv=notrunc status=none
                echo more >> renamed.txt; mkdir -p sub/deep; mv renamed.txt sub/after.txt
                head -c 5000000 /dev/urandom > sub/deep/large.bin; cp sub/deep/large.bin "$SCRATCH/large.bin"
                echo bytes > $'caf\\xe9.txt'
                mkdir rescued; echo mine > rescue.json
                echo saved > .whole.tmp; mv .whole.tmp folder/inner.txt
                """)
            try Self.loseCatalog(mount)
            let (dry, target) = try Self.rescue(mount, ["--dry-run"])
            #expect(dry.succeeded && dry.stdout.contains("8 documents") && dry.stdout.contains("sub/after.txt"))
            #expect(!FileManager.default.fileExists(atPath: target))

            let (result, _) = try Self.rescue(mount)
            #expect(result.succeeded, "\(result)")
            #expect(result.stdout.contains("8 documents") && result.stdout.contains("next: "))
            let seeding = Seeding(target)
            #expect(try seeding.text("new.txt") == "new\n")
            #expect(try seeding.text("whole.txt") == "whole\nmore\n")
            #expect(try seeding.text("sub/after.txt") == "renamed\nmore\n")
            #expect(try seeding.text("folder/inner.txt") == "saved\n")
            #expect(try seeding.read("sub/deep/large.bin") == Seeding(mount.scratch).read("large.bin"))
            #expect(try seeding.text("rescue (2).json") == "mine\n")
            let stat = try RealFileSystem(root: target).stat("new.txt")
            #expect(stat.mode & 0o777 == 0o640)
            let date = try mount.sandbox.run(["stat", "-c", "%.2Y", target + "/new.txt"], limit: 5)
            #expect(date.stdout == "1000000000.25\n")
            // Its name is not UTF-8.
            let names = try mount.sandbox.run(["bash", "-c", "cat \(target)/$'caf\\xe9.txt'"], limit: 5)
            #expect(names.stdout == "bytes\n")
            // Unmodified ones are the store's business.
            let all = try Self.files(mount, target)
            #expect(!all.contains("untouched.txt") && all.count == 10)

            // Of the placeholder that was edited: which bytes are real, and those.
            #expect(all.contains("partial.bin.partial") && !all.contains("partial.bin"))
            let partial = try seeding.read("partial.bin.partial")
            #expect(partial.count == 3_000_000)
            #expect(partial[1_000_000..<1_000_004].elementsEqual("EDIT".utf8))
            var expected = noise(3_000_000)
            expected.replaceSubrange(1_000_000..<1_000_004, with: Array("EDIT".utf8))
            var covered = 0
            for line in try seeding.text("partial.bin.partial.ranges").split(separator: "\n") where !line.hasPrefix("#")
            {
                let bounds = line.split(separator: " ").compactMap { Int($0) }
                let range = bounds[0]..<bounds[1] + 1
                covered += range.count
                #expect(partial[range] == expected[range])
                if range.contains(1_000_000) { #expect(range.contains(1_000_003)) }
            }
            #expect(covered >= 4 && covered < 3_000_000)

            let manifest = try Self.manifest(target)
            #expect(manifest.count == 8)
            #expect(manifest["whole.txt"]?.identifier != nil && manifest["whole.txt"]?.baseVersion != nil)
            #expect(manifest["new.txt"]?.identifier == nil && manifest["new.txt"]?.size == 4)
            #expect(manifest["folder/inner.txt"]?.identifier != nil)
            #expect(manifest["partial.bin.partial"]?.isPartial == true)
            #expect(manifest["rescue (2).json"]?.originalPath == "rescue.json")
            #expect(
                manifest["caf\u{fffd}.txt"]?.pathBytes
                    == Data(Array("caf".utf8) + [0xe9] + Array(".txt".utf8)).base64EncodedString())
        }
    }

    @Test("documents that the store has confirmed are not rescued; later changes are", arguments: late)
    func afterSync(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("echo new > new.txt; echo more >> whole.txt; echo more >> renamed.txt")
            try mount.sync()
            try mount.run("echo again >> whole.txt")
            try Self.loseCatalog(mount)
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded && result.stdout.contains("1 document,"))
            #expect(try Self.files(mount, target) == ["rescue.json", "whole.txt"])
            #expect(try Seeding(target).text("whole.txt") == "whole\nmore\nagain\n")
        }
    }

    @Test("nothing modified: rescue says so; --all copies whole files")
    func nothing() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("cat untouched.txt; head -c 10 partial.bin > /dev/null")
            try Self.loseCatalog(mount)
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded && result.stdout.contains("nothing to rescue"))
            try FileManager.default.removeItem(atPath: target)
            let (all, _) = try Self.rescue(mount, ["--all"])
            #expect(all.succeeded)
            let files = try Self.files(mount, target)
            #expect(files.contains { $0.hasPrefix("lost+found/") })
            #expect(try files.filter { $0 != "rescue.json" }.contains { try Seeding(target).text($0) == "untouched\n" })
        }
    }

    @Test("a mount with a fresh catalog puts modified content aside, and rescue finds it there")
    func afterAFreshMount() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("for n in $(seq 20); do echo number $n > doc$n; done; cat whole.txt; echo more >> whole.txt")
            try Self.loseCatalog(mount)
            // Twice, and with new inodes that get the same numbers.
            try mount.mount()
            try mount.run("ls -R > /dev/null; for n in $(seq 30); do echo other $n > other$n; done; cat untouched.txt")
            try mount.sync()
            try mount.remount()
            try mount.unmount()
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded)
            #expect(try Seeding(target).text("whole.txt") == "whole\nmore\n")
            for number in 1...20 { #expect(try Seeding(target).text("doc\(number)") == "number \(number)\n") }
            #expect(try Self.files(mount, target).count == 22)
        }
    }

    @Test("a readable catalog helps: new folder names, and documents without a label")
    func withCatalog() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run(
                "cat folder/inner.txt; echo more >> folder/inner.txt; mv folder other; echo unlabelled > plain.txt")
            try mount.kill9()
            try Self.outside(
                mount,
                """
                file=$(grep -l unlabelled -r storage)
                setfattr -x user.hydrant.label $file
                """)
            let before = FileManager.default.contents(atPath: mount.sandbox.state + "/catalog.sqlite")
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded && !result.stdout.contains("catalog cannot"))
            #expect(try Self.files(mount, target) == ["other/inner.txt", "plain.txt", "rescue.json"])
            #expect(try Seeding(target).text("plain.txt") == "unlabelled\n")
            #expect(FileManager.default.contents(atPath: mount.sandbox.state + "/catalog.sqlite") == before)
            // And all goes on as if nothing had been.
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("other/inner.txt") == "inner\nmore\n")
        }
    }

    @Test("a damaged catalog: mount and doctor name rescue, which uses the labels")
    func damaged() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("echo new > new.txt; cat whole.txt; echo more >> whole.txt")
            try mount.unmount()
            // All of it may still be in the write-ahead log.
            unlink(mount.sandbox.state + "/catalog.sqlite-wal")
            try Data(noise(30_000)).write(
                to: URL(filePath: mount.sandbox.state + "/catalog.sqlite", directoryHint: .notDirectory))
            let refused = try mount.hydrant(mount.mountCommand())
            #expect(refused.status == 1 && refused.stderr.contains("hydrant rescue"))
            let doctor = try mount.hydrant(["doctor", mount.sandbox.state])
            #expect(doctor.status == 1 && doctor.stdout.contains("damaged") && doctor.stdout.contains("2 files"))
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded && result.stdout.contains("the catalog cannot be used"))
            #expect(try Self.files(mount, target) == ["new.txt", "rescue.json", "whole.txt"])
        }
    }

    @Test("labels are not trusted: nothing is written outside the target, and nothing is overwritten")
    func hostile() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("for n in 1 2 3 4 5 6 7 8; do echo file $n > doc$n; done")
            try Self.loseCatalog(mount)
            try Self.outside(
                mount,
                """
                label() { setfattr -n user.hydrant.label -v "$2" $(grep -lx "file $1" -r storage); }
                label 1 "path=../../escaped"
                label 2 "path=/$SCRATCH/absolute"
                label 3 "path=a/../../../escaped"
                label 4 "path=doc5"
                label 6 "path=doc5/below"
                # mode=4777, path=doc, two zeros, 7
                label 7 0x6d6f64653d343737370a706174683d646f63000037
                label 8 "$(printf 'mtime=nonsense\\nextents=nonsense\\npath=doc8')"
                """)
            let (result, target) = try Self.rescue(mount)
            #expect(result.succeeded, "\(result)")
            #expect(Set(try Seeding(mount.scratch).names()) == ["out"])
            #expect(!FileManager.default.fileExists(atPath: mount.sandbox.path + "/escaped"))
            let files = try Self.files(mount, target)
            let texts = try files.filter { !$0.hasSuffix(".ranges") && $0 != "rescue.json" }
                .map { try Seeding(target).text($0) }
            #expect(Set(texts) == Set((1...8).map { "file \($0)\n" }))
            // One that cannot say what of it is here is not passed off as whole.
            #expect(files.contains("doc8.partial") && !files.contains("doc8"))
            #expect(files.contains("doc5") && files.contains("doc5 (2)") && files.contains("doc5 (2)/below") == false)
            for file in files {
                #expect(try RealFileSystem(root: target).stat(FSPath(file)).mode & 0o7000 == 0)
            }
        }
    }

    @Test("refused: while a daemon uses it, into a full directory or the state itself, and without a state directory")
    func refusals() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            func refused(_ state: String, _ target: String, _ text: String) throws {
                let result = try mount.hydrant(["rescue", state, target])
                #expect(result.status == 1 && result.stdout.isEmpty && result.stderr.contains(text), "\(result)")
            }
            let state = mount.sandbox.state
            try refused(state, mount.scratch + "/out", "unmount")
            #expect(!FileManager.default.fileExists(atPath: mount.scratch + "/out"))
            try mount.unmount()
            try Seeding(mount.scratch).file("full/document", "x")
            try refused(state, mount.scratch + "/full", "not empty")
            try refused(state, mount.scratch + "/full/document", "not a directory")
            try refused(state, state + "/out", "state directory")
            try refused(mount.store, mount.scratch + "/out", "not a state directory")
            try refused(mount.scratch + "/none", mount.scratch + "/out", "No such file")
            #expect(try Seeding(mount.scratch).names() == ["full"])
        }
    }
}
