import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// What was closed is not lost, whatever becomes of the daemon.
@Suite("kill -9 of the daemon")
struct CrashTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("kept.txt", "kept\n")
        try seeding.file("renamed.txt", "renamed\n")
        try seeding.file("deleted.txt", "deleted\n")
        try seeding.file("edited.txt", "before\n")
        try seeding.file("folder/inner.txt", "inner\n")
        try seeding.file("large.bin", noise(3_000_000))
    }

    static let late: [MountOptions] = [
        .lateUploads,
        .with {
            $0.settle = 3_600
            $0.settleAfterSync = 3_600
            $0.passthrough = false
        },
    ]

    @Test("right after cp returned: the next mount sends the file", arguments: late)
    func copy(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("cp \"$STORE/large.bin\" copied.bin")
            try mount.kill9()
            #expect(!FileManager.default.fileExists(atPath: mount.store + "/copied.bin"))
            try mount.mount()
            // What the killed daemon had not heard the end of is sent at once: it may be there already.
            let isPending = try mount.status("copied.bin").modified
            #expect(isPending || FileManager.default.fileExists(atPath: mount.store + "/copied.bin"))
            try mount.sync()
            #expect(try Seeding(mount.store).read("copied.bin") == noise(3_000_000))
            try mount.requireSameAsStore()
        }
    }

    @Test("many small files", arguments: late)
    func manyFiles(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("mkdir many; for n in $(seq 300); do echo \"number $n\" > many/$n; done")
            try mount.kill9()
            try mount.mount()
            try mount.sync()
            let names = try Seeding(mount.store).names("many")
            #expect(Set(names) == Set((1...300).map(String.init)))
            for number in 1...300 { #expect(try Seeding(mount.store).text("many/\(number)") == "number \(number)\n") }
            try mount.requireSameAsStore()
        }
    }

    @Test(
        "changes of every kind are pending after the kill, and are sent", .notOverWebDAV("symbolic links"),
        arguments: late)
    func everyKind(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                ls -R >/dev/null
                mv renamed.txt folder/new-name.txt
                rm deleted.txt
                echo after >> edited.txt
                mkdir made; echo new > made/new.txt; ln -s new.txt made/link
                mv folder moved
                sed -i s/kept/saved/ kept.txt
                truncate -s 1000 large.bin
                """)
            try mount.kill9()
            try mount.mount()
            try mount.sync()
            let seeding = Seeding(mount.store)
            #expect(try seeding.names() == ["edited.txt", "kept.txt", "large.bin", "made", "moved"])
            #expect(try seeding.names("moved") == ["inner.txt", "new-name.txt"])
            #expect(try seeding.text("edited.txt") == "before\nafter\n")
            #expect(try seeding.text("kept.txt") == "saved\n")
            #expect(try seeding.read("large.bin") == Array(noise(3_000_000).prefix(1_000)))
            try mount.requireSameAsStore()
            let hooks = mount.hookCalls()
            #expect(hooks.filter { $0.hook == .moveItem }.count == 2)
            #expect(hooks.filter { $0.hook == .deleteItem }.map(\.item).count == 1)
        }
    }

    @Test("while a program still writes: the written bytes are pending", arguments: late)
    func openWriter(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let writer = try mount.start(
                """
                exec python3 -uc '
                import time
                file = open("edited.txt", "ab", buffering=0)
                file.write(b"unfinished\\n")
                print("written")
                time.sleep(600)
                '
                """)
            try waitUntil(10, "it is written") { writer.stdout.contains("written") }
            try mount.kill9()
            writer.signal(SIGKILL)
            _ = writer.wait(limit: 5)
            try mount.mount()
            try mount.sync()
            #expect(try Seeding(mount.store).text("edited.txt") == "before\nunfinished\n")
            try mount.requireSameAsStore()
        }
    }

    @Test(
        "in the middle of an upload: no partial document in the store, and no conflicted copy",
        arguments: ["new.bin", "large.bin"])
    func duringUpload(_ name: String) async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("head -c 300000000 /dev/zero | tr '\\0' x > \(name)")
            let sync = try mount.sandbox.spawn([Sandbox.executable, "sync", mount.mountPoint])
            // The upload is under way when its bytes begin to appear beside the document.
            try waitUntil(20, "the upload is under way") {
                let used = try mount.run("find \"$STORE\" -size +10000k -printf '%s\\n'")
                return !used.isEmpty
            }
            try mount.kill9()
            _ = sync.wait(limit: 10)
            let before = FileManager.default.contents(atPath: mount.store + "/" + name)
            if name == "new.bin" {
                #expect(before == nil || before?.count == 300_000_000)
            } else {
                #expect(before?.count == 3_000_000 || before?.count == 300_000_000)
            }
            try mount.mount()
            try mount.sync(limit: 30)
            try mount.requireSameAsStore()
            let expected = ["deleted.txt", "edited.txt", "folder", "kept.txt", "large.bin", "new.bin", "renamed.txt"]
            try Self.requireDraftsSwept(mount)
            let names = try Seeding(mount.store).names()
            #expect(names == expected.filter { $0 != "new.bin" || name == "new.bin" })
            #expect(try mount.run("stat -c %s \(name); tr -d x < \"$STORE/\(name)\" | wc -c") == "300000000\n0\n")
        }
    }

    /// A killed daemon's drafts go when their folder is listed again (a process that is being killed may hold
    /// them for a moment longer, so the first listing of the next one need not do).
    private static func requireDraftsSwept(_ mount: MountedStore) throws {
        try waitUntil(5, "the drafts are swept") {
            if try mount.drafts().isEmpty { return true }
            try Seeding(mount.store).file("poke", "")
            try RealFileSystem(root: mount.store).unlink("poke")
            return false
        }
        try waitUntil(2, "the pokes are gone here too") { try mount.difference() == nil }
    }

    @Test("again and again, while files are written: no closed file is missing")
    func repeatedly() async throws {
        try await withMount(
            .with {
                $0.settle = 0; $0.settleAfterSync = 0
            }, seed: Self.seed
        ) { mount in
            var written: Set<String> = []
            for round in 1...4 {
                let writer = try mount.start(
                    """
                    for n in $(seq 2000); do
                        echo "round \(round) number $n" > r\(round)-$n || exit 0
                        echo r\(round)-$n >> "$SCRATCH/written"
                    done
                    """)
                try waitUntil(20, "\(round * 20) files are written") {
                    let data = FileManager.default.contents(atPath: mount.scratch + "/written") ?? Data()
                    written = Set(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
                    return written.filter { $0.hasPrefix("r\(round)-") }.count >= 20
                }
                try mount.kill9()
                _ = writer.wait(limit: 10)
                let data = FileManager.default.contents(atPath: mount.scratch + "/written") ?? Data()
                written = Set(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
                try mount.mount()
            }
            try mount.sync()
            try mount.requireSameAsStore()
            try Self.requireDraftsSwept(mount)
            let names = Set(try Seeding(mount.store).names())
            #expect(written.subtracting(names) == [])
            #expect(names.filter { $0.contains("conflicted") } == [])
            for name in written {
                let parts = name.dropFirst().split(separator: "-")
                #expect(try Seeding(mount.store).text(name) == "round \(parts[0]) number \(parts[1])\n")
            }
        }
    }
}
