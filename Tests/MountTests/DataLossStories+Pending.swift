import ControlAPI
import Foundation
import MountHarness
import Testing

// Changes that wait to be sent: dropped, raced, or taken away by the cleaner.
extension DataLossStories {
    // Measured with others: one of them uploaded none, and left them under other names.
    @Test(
        "fifty files that were closed 0.2 s before the daemon is killed all reach the store",
        arguments: [1, 0] as [Double])
    func fiftyFiles(settle: Double) async throws {
        try await withMount(
            .with {
                // As it is by itself, and with uploads under way.
                $0.settle = settle
                $0.settleAfterSync = 5
                $0.limit = 120
            }
        ) { mount in
            try mount.python(
                """
                for n in range(50): write("file %d" % n, b"%d " % n * (n * 500))
                time.sleep(0.2)
                """)
            try mount.kill9()
            try mount.mount()
            try mount.sync()
            try mount.requireSameTree()
            #expect(try Set(Seeding(mount.store).names()) == Set((0..<50).map { "file \($0)" }))
            for number in 0..<50 {
                let text = String(repeating: "\(number) ", count: number * 500)
                #expect(try Seeding(mount.store).text("file \(number)") == text, "file \(number)")
            }
        }
    }

    // rclone #7309, #4293; jstaf/onedriver #90: dropped after five tries.
    @Test("changes refused thirty times, over kills and remounts, are sent when the store accepts them")
    func retriesDoNotRunOut() async throws {
        try await Self.withOwnStore(.with { $0.limit = 240 }) { store in
            for name in ["edited", "deleted", "renamed", "folder/moved"] { try store.file(name, "old \(name)") }
        } _: { mount in
            try mount.run("find . -type f -exec cat {} + >/dev/null")
            try Self.takesChanges(mount, false)
            try mount.run(
                """
                printf 'new edited' > edited; rm deleted; mv renamed 'new name'; mkdir made; mv folder/moved made/
                printf made > made/new; ln -s new made/link; rmdir folder
                """)
            for round in 1...3 {
                for _ in 1...10 {
                    let tried = try mount.hydrant(["retry", mount.mountPoint, "--timeout", "5"])
                    #expect(!tried.succeeded)
                }
                if round == 1 {
                    try mount.kill9()
                } else {
                    _ = try mount.hydrant(["unmount", "--force", mount.mountPoint])
                }
                try mount.mount()
                let overview = try mount.overview().joined(separator: "\n")
                for name in ["edited", "deleted", "new name", "made/new", "made/link", "made/moved"] {
                    #expect(overview.contains("\(mount.mountPoint)/\(name)"), "\(overview)")
                }
            }
            try Self.takesChanges(mount, true)
            _ = try mount.hydrant(["retry", mount.mountPoint])
            try mount.sync()
            try mount.requireSameTree()
            let left = try mount.run(
                "cd \"$STORE\"; find . -mindepth 1 | sort; cat edited 'new name' made/new made/moved")
            #expect(
                left == "./edited\n./made\n./made/link\n./made/moved\n./made/new\n./new name\n"
                    + "new editedold renamedmadeold folder/moved")
            try mount.unmount()
        }
    }

    // juicedata/juicefs #6161.
    @Test("eviction, by hand and automatic, keeps documents that the store does not have", arguments: modes)
    func cleanerLeavesTheOnlyCopy(_ options: MountOptions) async throws {
        var options = options
        options.arguments = ["--cache-limit", "300K"]
        options.settle = 0
        try await Self.withOwnStore(options) { store in
            for number in 1...10 { try store.file("store \(number)", noise(100_000, seed: UInt64(number))) }
        } _: { mount in
            try mount.run("cat store* >/dev/null")
            try Self.takesChanges(mount, false)
            try mount.run(
                """
                mkdir "$SCRATCH/mine"
                for n in $(seq 20); do head -c 100000 /dev/urandom > "$SCRATCH/mine/mine $n"; done
                cp "$SCRATCH"/mine/* .; printf more >> 'store 1'; cat store* >/dev/null
                "$HYDRANT" evict "$MOUNT"
                """)
            let whole = "for n in $(seq 20); do cmp \"mine $n\" \"$SCRATCH/mine/mine $n\"; done; tail -c 4 'store 1'"
            try waitUntil(20, "what may go is gone") {
                try mount.statuses((2...10).map { "store \($0)" }).allSatisfy { $0.bytesDownloaded == 0 }
            }
            #expect(try mount.run(whole) == "more")
            try mount.kill9()
            try mount.mount()
            try mount.run("cat store* >/dev/null; \"$HYDRANT\" evict \"$MOUNT\"")
            #expect(try mount.run(whole) == "more")
            try Self.takesChanges(mount, true)
            _ = try mount.hydrant(["retry", mount.mountPoint])
            try mount.sync()
            try mount.requireSameTree()
            #expect(try mount.run(whole) == "more")
            try mount.unmount()
        }
    }

    // rclone #4293.
    @Test(
        "a save by rename while the earlier save is being sent: the last one wins, nothing else is left",
        arguments: modes
    )
    func renameRacesUpload(_ options: MountOptions) async throws {
        var options = options
        options.settle = 0
        options.settleAfterSync = 0
        try await withMount(options) {
            try Seeding($0).file("doc.bin", [UInt8](repeating: UInt8(ascii: "@"), count: 3_000_000))
        } _: { mount in
            // Somebody looks at the store meanwhile: one whole version after the other. (For a moment there is none when
            // the new file was sent under its first name: the old document goes, and the new one is moved there.)
            let watcher = try mount.startPython(
                """
                print("ready")
                while not os.path.exists(SCRATCH + "/done"):
                    try: data = read(STORE + "/doc.bin")
                    except FileNotFoundError: continue
                    if len(data) != 3_000_000 or data.count(data[:1]) != len(data):
                        print("bad:", len(data), data[:1], data[-1:]); sys.exit(1)
                """)
            try waitUntil(10, "it is watched") { watcher.stdout.contains("ready") }
            try mount.python(
                """
                for n in range(40):
                    name = "doc.bin.%d.part" % n
                    write(name, bytes([65 + n]) * 3_000_000)
                    os.rename(name, "doc.bin")
                    if n % 4 == 0: time.sleep(0.02)
                """, limit: 60)
            try mount.sync(limit: 40)
            try mount.run("touch \"$SCRATCH/done\"")
            let seen = watcher.wait(limit: 10)
            #expect(seen.succeeded, "\(seen)")
            #expect(try Seeding(mount.store).names() == ["doc.bin"])
            #expect(try Seeding(mount.store).read("doc.bin") == [UInt8](repeating: 104, count: 3_000_000))
            try mount.requireSameTree()
        }
    }

    // awslabs/mountpoint-s3 #1344.
    @Test(
        "a document opened right after close, by the same or another process, has the written contents",
        arguments: modes)
    func openRightAfterClose(_ options: MountOptions) async throws {
        var options = options
        options.settle = 0
        try await withMount(options) {
            try Seeding($0).file("old.txt", "old")
        } _: { mount in
            try mount.python(
                """
                for n in range(150):
                    data = b"%d " % n * (n * 37)
                    name = ["new %d" % n, "same", "old.txt"][n % 3]
                    write(name, data)
                    assert os.stat(name).st_size == len(data), n
                    assert read(name) == data, n
                    if n % 10 == 0: assert subprocess.check_output(["cat", name]) == data, n
                    append(name, b"more")
                    assert read(name) == data + b"more", n
                    os.rename(name, "renamed")
                    assert read("renamed") == data + b"more" and not os.path.exists(name), n
                    os.rename("renamed", name)
                    assert read(name) == data + b"more", n
                """, limit: 60)
            try mount.sync(limit: 40)
            try mount.requireSameTree()
            #expect(Self.copies(try Seeding(mount.store).names()) == [])
        }
    }

    // Our own: an upload opened the file by a record from before the append, and gave it the size that it had had.
    @Test("bytes appended while the document is being sent stay", arguments: modes)
    func appendWhileSending(_ options: MountOptions) async throws {
        var options = options
        options.settle = 0
        options.settleAfterSync = 0
        try await withMount(options) { mount in
            try mount.python(
                """
                wrong = []
                def run(k):
                    for n in range(500):
                        name, data = "log %d %d" % (k, n % 5), b"%d %d " % (k, n) * (n % 50)
                        write(name, data)
                        append(name, b"more")
                        found = read(name)
                        if found != data + b"more": wrong.append((k, n, len(found), len(data) + 4, found[-9:]))
                threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                assert not wrong, wrong
                """, limit: 90)
            try mount.sync(limit: 40)
            try mount.requireSameTree()
            let ends = try mount.run("for file in \"$STORE\"/log*; do tail -c 4 \"$file\"; done")
            #expect(ends == String(repeating: "more", count: 20))
        }
    }
}
