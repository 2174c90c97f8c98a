import ControlAPI
import Foundation
import MountHarness
import Testing

/// How others' users lost data, as their public reports tell it, and that it does not happen here. Each test is one
/// story, and names its source where that is public.
@Suite("Data loss stories of other programs")
struct DataLossStories {
    static let modes: [MountOptions] = [
        .with { $0.limit = 120 },
        .with {
            $0.limit = 120; $0.passthrough = false
        },
    ]

    /// How programs save what they have read: each gets `old` and makes `saved` of it.
    static let saves: [String: String] = [
        "in place": "printf saved > doc.txt",
        "in place, without truncating":
            "printf 'saved' | dd of=doc.txt conv=notrunc status=none; truncate -s 5 doc.txt",
        "by rename": "printf saved > .doc.txt.part; mv .doc.txt.part doc.txt",
        "after moving the old one away": "mv doc.txt doc.txt~; printf saved > doc.txt",
        "after deleting the old one": "rm doc.txt; printf saved > doc.txt",
    ]

    static func copies(_ names: [String]) -> [String] { names.filter { $0.contains("(conflicted copy") } }

    /// A store on a file system of its own, which can be made read-only.
    static func withOwnStore(
        _ options: MountOptions, seed: @escaping @Sendable (Seeding) throws -> Void,
        _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withSandbox(options) { mount in
            let made = try mount.sandbox.run(
                ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", mount.store], limit: 5)
            try #require(made.succeeded)
            try seed(Seeding(mount.store))
            try mount.mount()
            try body(mount)
        }
    }

    static func takesChanges(_ mount: MountedStore, _ does: Bool) throws {
        let how = does ? "remount,rw" : "remount,ro"
        try #require(try mount.sandbox.run(["mount", "-o", how, mount.store], limit: 5).succeeded)
    }

    // MARK: Deleted

    // nextcloud/desktop #6162, #3444.
    @Test("a mount in another mode, or with a new state directory, deletes and changes nothing in the store")
    func modeSwitch() async throws {
        try await withMount(.with { $0.limit = 120 }) { store in
            for name in ["doc.txt", "film.iso", "old.bak", "draft.txt~", "folder/inner.iso", "folder/.swap.swp"] {
                try Seeding(store).file(name, "of \(name)\n", modified: 1_600_000_000)
            }
            try Seeding(store).folder(".Trash-1000/files")
        } _: { mount in
            let list = "find \"$STORE\" -mindepth 1 -printf '%P %y %i %m %s %T@\\n' | sort"
            try mount.run("find . -type f -exec cat {} + >/dev/null; echo kept > 'mine~'")
            try mount.sync()
            let before = try mount.run(list)
            let modes: [[String]] = [
                ["--read-only"], [], ["--exclude", "*.iso", "--exclude", "folder"], ["--no-default-excludes"],
                ["--cache-limit", "1K"], ["--umask", "077"], ["--exclude", "*"],
                ["--state-dir", mount.sandbox.path + "/another"], [],
            ]
            for arguments in modes {
                try mount.unmount()
                let mounted = try mount.hydrant(mount.mountCommand(arguments))
                try #require(mounted.succeeded, "\(arguments): \(mounted)")
                mount.forgetCalls()
                // Each is looked at, and read.
                try mount.run("find . -type f -exec cat {} + >/dev/null")
                if arguments.first != "--read-only" { try mount.sync() }
                // (`mine~` is nobody's but ours, until nothing is excluded.)
                let now = try mount.run(list).split(separator: "\n").filter { !$0.hasPrefix("mine~ ") }
                #expect(now.joined(separator: "\n") + "\n" == before, "\(arguments)")
                let calls = mount.hookCalls().map(\.description).filter { !$0.hasSuffix(" mine~") }
                #expect(
                    !calls.contains { $0.hasPrefix("deleteItem") || $0.hasPrefix("moveItem") }, "\(arguments): \(calls)"
                )
            }
            #expect(try mount.run("cat 'mine~'") == "kept\n")
        }
    }

    // opencloud-eu/desktop #372.
    @Test(
        "a placeholder moved out of the mount is whole there, before the store's document is deleted", arguments: modes)
    func movedOut(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file("doc.bin", noise(5_000_000))
            for number in 1...20 { try Seeding(store).file("folder/\(number)", noise(10_000, seed: UInt64(number))) }
        } _: { mount in
            let before = mount.scratch + "/before"
            try mount.run("cp -a \"$STORE\" \"$SCRATCH/before\"; ls -lR >/dev/null")
            // The store cannot be had: it stays where it is.
            try mount.run("cd /; mv \"$STORE\" \"$SCRATCH/away\"")
            for name in ["doc.bin", "folder"] {
                let refused = try mount.shell("mv \(name) \"$SCRATCH/\(name)\"")
                #expect(!refused.succeeded)
                #expect(try RealFileSystem(root: mount.mountPoint).exists(FSPath(name)))
            }
            try mount.run("cd /; mv \"$SCRATCH/away\" \"$STORE\"; rm -rf \"$SCRATCH/folder\" \"$SCRATCH/doc.bin\"")
            try mount.sync()
            try mount.run("diff -r \"$STORE\" '\(before)'; diff -r \"$MOUNT\" '\(before)'")

            try mount.evictAll()
            try mount.run("mv doc.bin folder \"$SCRATCH\"")
            try mount.run(
                "cmp \"$SCRATCH/doc.bin\" '\(before)/doc.bin'; diff -r \"$SCRATCH/folder\" '\(before)/folder'")
            try mount.sync()
            #expect(try Seeding(mount.store).names() == [])
        }
    }

    // MARK: Overwritten

    // Measured with another program: the store's version was lost without a word.
    @Test(
        "changed in the store while our change waits: both are kept, for every kind of save",
        arguments: saves.keys.sorted())
    func remoteChangeWhilePending(_ save: String) async throws {
        let script = try #require(Self.saves[save])
        // However slow the machine, the save is one change.
        try await withMount(.lateUploads) {
            try Seeding($0).file("doc.txt", "old")
        } _: { mount in
            try mount.run("\"$HYDRANT\" pause \"$MOUNT\"; cat doc.txt; \(script)")
            try Seeding(mount.store).file("doc.txt", "theirs, and longer")
            try mount.run("\"$HYDRANT\" resume \"$MOUNT\"")
            try mount.sync()
            try waitUntil(10, "theirs shows") { try mount.run("cat doc.txt") == "theirs, and longer" }
            try mount.requireSameTree()
            let copies = Self.copies(try Seeding(mount.store).names())
            #expect(try copies.map { try Seeding(mount.store).text($0) } == ["saved"])
            #expect(try Seeding(mount.store).text("doc.txt") == "theirs, and longer")
        }
    }

    // MARK: Half written, or nothing

    // nextcloud/desktop #9776, s3fs-fuse #2621.
    @Test("a document that is rewritten slowly is never empty or partial in the store", arguments: modes)
    func neverEmpty(_ options: MountOptions) async throws {
        var options = options
        options.settle = 0
        options.settleAfterSync = 0
        try await withMount(options) {
            try Seeding($0).file("doc.bin", [UInt8](repeating: UInt8(ascii: "a"), count: 2_000_000))
        } _: { mount in
            // Looks at the store all the time; whatever it sees there must be one letter, two million times.
            let watcher = try mount.startPython(
                """
                print("ready")
                while not os.path.exists(SCRATCH + "/done"):
                    # (Where the new file was sent under its first name, the old one goes before it is moved there.)
                    try: data = read(STORE + "/doc.bin")
                    except FileNotFoundError: continue
                    if len(data) != 2_000_000 or data.count(data[:1]) != len(data):
                        print("bad:", len(data), data[:1], data[-1:]); sys.exit(1)
                """)
            try waitUntil(10, "it is watched") { watcher.stdout.contains("ready") }
            try mount.python(
                """
                for n in range(12):
                    letter = b"bcdefghijklm"[n:n + 1]
                    if n % 3 == 0:
                        file = os.open("doc.bin", os.O_WRONLY | os.O_TRUNC)
                    elif n % 3 == 1:
                        file = os.open("doc.bin", os.O_WRONLY); os.ftruncate(file, 0)
                    else:
                        file = os.open(".doc.part", os.O_WRONLY | os.O_CREAT, 0o644)
                    for piece in range(20):
                        os.write(file, letter * 100_000); time.sleep(0.005)
                    os.close(file)
                    if n % 3 == 2: os.rename(".doc.part", "doc.bin")
                """, limit: 60)
            try mount.sync(limit: 40)
            try mount.run("touch \"$SCRATCH/done\"")
            let seen = watcher.wait(limit: 10)
            #expect(seen.succeeded, "\(seen)")
            try mount.requireSameTree()
            #expect(try Seeding(mount.store).names() == ["doc.bin"])
        }
    }

    @Test(
        "a document replaced in the store during a read is read whole, old or new, or the read fails", arguments: modes)
    func replacedWhileRead(_ options: MountOptions) async throws {
        try await withMount(options) {
            try Seeding($0).file("doc.bin", [UInt8](repeating: UInt8(ascii: "a"), count: 4_000_000))
        } _: { mount in
            let output = try mount.python(
                """
                good, failed = 0, 0
                for n in range(30):
                    letter = b"abcdefghijklmnopqrstuvwxyzABCDEFGH"[n:n + 1]
                    with open(STORE + "/.new", "wb") as file: file.write(letter * 4_000_000)
                    reader = subprocess.Popen(["cat", "doc.bin"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                    start = reader.stdout.read(1)
                    os.rename(STORE + "/.new", STORE + "/doc.bin")
                    data = start + reader.stdout.read()
                    if reader.wait() != 0: failed += 1; continue
                    good += 1
                    if len(data) != 4_000_000 or data.count(data[:1]) != len(data):
                        print("mixed:", n, len(data), data[:1], data[-1:]); sys.exit(1)
                print(good > 0, file=sys.stderr)
                """, limit: 90)
            #expect(output == "")
            try waitUntil(10, "the last one shows") { try mount.difference() == nil }
        }
    }
}
