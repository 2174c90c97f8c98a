import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// What programs do when they save, copy, move and delete, and what the store has then.
@Suite("Changes reach the store byte for byte")
struct SaveTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("letter.txt", "Dear Anna,\nall is well.\n")
        try seeding.file("notes/one.md", "# One\n")
        try seeding.file("notes/two.md", "# Two\n")
        try seeding.file("notes/old/three.md", "# Three\n")
        try seeding.file("picture.jpg", noise(500_000))
    }

    @Test(
        "sed -i: the document keeps its identifier, one itemChanged, nothing else",
        arguments: [
            MountOptions.with { $0.settle = 1 },
            MountOptions.with {
                $0.settle = 1; $0.passthrough = false
            },
        ])
    func sed(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let before = try mount.status("letter.txt")
            try mount.run("sed -i s/Anna/Berta/ letter.txt")
            #expect(try mount.status("letter.txt").modified)
            // By itself, without a sync.
            try waitUntil(10, "it is uploaded") { try !mount.status("letter.txt").modified }
            let changes = mount.hookCalls().filter {
                [.itemChanged, .createItem, .deleteItem, .moveItem].contains($0.hook)
            }
            #expect(changes.map(\.hook) == [.itemChanged])
            #expect(changes.map(\.item) == ["letter.txt"])
            #expect(try Seeding(mount.store).text("letter.txt") == "Dear Berta,\nall is well.\n")
            #expect(try Seeding(mount.store).names() == ["letter.txt", "notes", "picture.jpg"])
            let after = try mount.status("letter.txt")
            #expect(after.identifier == before.identifier)
            #expect(after.version != before.version)
        }
    }

    @Test("no program ever sees sed's temporary file in the store")
    func noTemporary() async throws {
        try await withMount(.with { $0.settle = 1 }, seed: Self.seed) { mount in
            // Writes down every name that appears in the store.
            let watch = try mount.start(
                """
                exec python3 -uc '
                import ctypes, os, struct
                libc = ctypes.CDLL("libc.so.6")
                fd = libc.inotify_init()
                libc.inotify_add_watch(fd, os.environ["STORE"].encode(), 0x100 | 0x80)
                print("ready")
                while True:
                    data = os.read(fd, 65536)
                    while data:
                        size = struct.unpack_from("iIII", data)[3]
                        print("name", data[16:16 + size].rstrip(b"\\0").decode())
                        data = data[16 + size:]
                '
                """)
            try waitUntil(10, "the watch is on") { watch.stdout.contains("ready") }
            try mount.run("for n in 1 2 3; do sed -i s/well/better/ letter.txt; done; cp picture.jpg copy.jpg")
            try mount.sync()
            try waitUntil(5, "the copy was seen") { watch.stdout.contains("name copy.jpg") }
            #expect(!watch.stdout.contains("name sed"))
            watch.signal(SIGKILL)
            _ = watch.wait(limit: 5)
        }
    }

    @Test(
        "cp, tar x, mv, mkdir, rm -r, in one go", .notOverWebDAV("symbolic links"),
        arguments: [MountOptions(), .cached, .lateUploads])
    func everything(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                cp picture.jpg copy.jpg
                cp "$STORE/picture.jpg" fresh.jpg
                mkdir -p "$SCRATCH/t/album/2020"
                for n in $(seq 40); do head -c $((n * 997)) "$STORE/picture.jpg" > "$SCRATCH/t/album/2020/$n.jpg"; done
                ln -s 2020/1.jpg "$SCRATCH/t/album/first"
                tar -C "$SCRATCH/t" -cf "$SCRATCH/album.tar" album
                tar xf "$SCRATCH/album.tar"
                mv letter.txt notes/letter.txt
                mv notes/old archive
                rm notes/one.md
                mkdir empty
                echo more >> notes/two.md
                """)
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(
                try mount.run("diff -r --no-dereference \"$SCRATCH/t/album\" \"$STORE/album\" && echo same") == "same\n"
            )
            #expect(
                try Seeding(mount.store).names() == [
                    "album", "archive", "copy.jpg", "empty", "fresh.jpg", "notes", "picture.jpg",
                ])
            try mount.run("rm -r album notes")
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try Seeding(mount.store).names() == ["archive", "copy.jpg", "empty", "fresh.jpg", "picture.jpg"])
        }
    }

    @Test("an mv is a move at the provider: same identifier, no upload, no download")
    func move() async throws {
        try await withMount(seed: Self.seed) { mount in
            let before = try mount.status("picture.jpg").identifier
            try mount.run("ls -R >/dev/null; mv picture.jpg notes/old/photo.jpg; mv notes papers")
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.status("papers/old/photo.jpg").identifier == before)
            let hooks = mount.hookCalls().map(\.hook)
            #expect(hooks.filter { $0 == .moveItem }.count == 2, "\(mount.logTail)")
            #expect(!hooks.contains(.itemChanged) && !hooks.contains(.createItem) && !hooks.contains(.deleteItem))
        }
    }

    @Test("a document written for a long time is uploaded once, at close")
    func onceAtClose() async throws {
        try await withMount(.with { $0.settle = 0.2 }, seed: Self.seed) { mount in
            let writer = try mount.start(
                """
                exec 3> log.txt
                for n in $(seq 10); do echo "line $n" >&3; sleep 0.1; done
                until [ -e "$SCRATCH/go" ]; do sleep 0.05; done
                for n in $(seq 11 20); do echo "line $n" >&3; done
                """)
            try waitUntil(10, "something is written") { try mount.run("cat log.txt || true").contains("line 10\n") }
            // Several times what a closed one waits.
            usleep(600_000)
            #expect(!FileManager.default.fileExists(atPath: mount.store + "/log.txt"))
            try Seeding(mount.scratch).file("go", "")
            #expect(writer.wait(limit: 20).succeeded)
            try mount.sync()
            #expect(try Seeding(mount.store).text("log.txt").hasSuffix("line 20\n"))
            #expect(mount.hookCalls().filter { $0.item == "log.txt" }.map(\.hook) == [.createItem])
        }
    }

    @Test("writing through mmap reaches the store", arguments: [MountOptions(), .cached])
    func mapped(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run(
                """
                python3 -c '
                import mmap
                with open("picture.jpg", "r+b") as file:
                    with mmap.mmap(file.fileno(), 0) as memory:
                        memory[1000:1005] = b"HELLO"
                        memory[499990:500000] = b"0123456789"
                '
                """)
            try mount.sync()
            var bytes = noise(500_000)
            bytes.replaceSubrange(1_000..<1_005, with: Array("HELLO".utf8))
            bytes.replaceSubrange(499_990..<500_000, with: Array("0123456789".utf8))
            #expect(try Seeding(mount.store).read("picture.jpg") == bytes)
            try mount.requireSameAsStore()
        }
    }
}
