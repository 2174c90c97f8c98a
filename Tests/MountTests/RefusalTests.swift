import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// Changes that the store refuses: what is said of them, and what can be done.
@Suite("hydrant retry, discard, save")
struct RefusalTests {
    /// A store on a file system of its own, so that it can be full, read-only, or hold what cannot be changed.
    private static func withStore(
        _ options: MountOptions = MountOptions(), size: String = "16m",
        _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withSandbox(options) { mount in
            let made = try mount.sandbox.run(
                ["mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", mount.store], limit: 5)
            try #require(made.succeeded)
            let seeding = Seeding(mount.store)
            try seeding.file("doc.txt", "the store's\n")
            try seeding.file("folder/one.txt", "one\n")
            try mount.mount()
            try mount.run("cat doc.txt folder/one.txt; ls -R > /dev/null")
            try body(mount)
        }
    }

    private static func attribute(_ mount: MountedStore, _ what: String, _ path: String) throws {
        let result = try mount.sandbox.run(["chattr", what, mount.store + "/" + path], limit: 5)
        try #require(result.succeeded, "\(result)")
    }

    private static func remount(_ mount: MountedStore, _ how: String) throws {
        try #require(try mount.sandbox.run(["mount", "-o", "remount,\(how)", mount.store], limit: 5).succeeded)
    }

    private static func refused(_ mount: MountedStore, _ path: String) throws {
        try waitUntil(10, "\(path) is refused") {
            let overview = try mount.overview()
            guard let line = overview.firstIndex(where: { $0.contains("\(mount.mountPoint)/\(path)  (") }) else {
                return false
            }
            return overview.count > line + 1 && overview[line + 1].contains("refused;")
        }
    }

    @Test("a document that may not be changed: reported with cause and remedy, saved, discarded")
    func permission() async throws {
        try await Self.withStore { mount in
            try Self.attribute(mount, "+i", "doc.txt")
            try mount.run("echo mine, and longer than it was > doc.txt")
            try Self.refused(mount, "doc.txt")
            let status = try mount.overview().joined()
            #expect(status.contains("Operation not permitted") && status.contains("hydrant retry"))

            let path = mount.mountPoint + "/doc.txt"
            let saved = try mount.hydrant(["save", path, mount.scratch + "/mine.txt"])
            #expect(saved.succeeded, "\(saved)")
            #expect(try Seeding(mount.scratch).text("mine.txt") == "mine, and longer than it was\n")

            // Nobody can be asked: nothing happens without --yes, but it says what would.
            let unasked = try mount.hydrant(["discard", path])
            #expect(unasked.status == 64 && unasked.stderr.contains("--yes"))
            #expect(unasked.stdout.contains("doc.txt") && unasked.stdout.contains("29 bytes"))
            #expect(try mount.run("cat doc.txt") == "mine, and longer than it was\n")
            #expect(try mount.hydrant(["discard", "--dry-run", path]).succeeded)
            #expect(try mount.status("doc.txt").modified)

            let done = try mount.hydrant(["discard", "--yes", path])
            #expect(done.succeeded && done.stdout.contains("discarded"), "\(done)")
            let after = try mount.status("doc.txt")
            #expect(!after.modified && after.state == .placeholder && after.error == nil && after.size == 12)
            #expect(try mount.run("cat doc.txt") == "the store's\n")
            try mount.requireSameAsStore()
            #expect(try mount.hydrant(["doctor", mount.mountPoint]).succeeded)
            try Self.attribute(mount, "-i", "doc.txt")
        }
    }

    @Test(
        "retry: a change that is still refused gives status 75 and a line; it is sent as soon as the store accepts it")
    func retry() async throws {
        try await Self.withStore { mount in
            try Self.remount(mount, "ro")
            try mount.run("echo new > new.txt; echo more >> folder/one.txt")
            try Self.refused(mount, "new.txt")
            let refused = try mount.hydrant(["retry", mount.mountPoint])
            #expect(refused.status == 75 && refused.stdout.contains("new.txt") && refused.stdout.contains("Read-only"))
            #expect(refused.stderr.contains("2 changes are still pending"))
            try Self.remount(mount, "rw")
            let one = try mount.hydrant(["retry", "--json", mount.mountPoint + "/folder"])
            #expect(one.succeeded && one.stdout.split(whereSeparator: \.isWhitespace) == ["[", "]"], "\(one)")
            #expect(try Seeding(mount.store).text("folder/one.txt") == "one\nmore\n")
            #expect(try mount.hydrant(["retry", mount.mountPoint + "/new.txt"]).succeeded)
            try mount.requireSameAsStore()
            #expect(try mount.hydrant(["retry", mount.mountPoint]).succeeded)
        }
    }

    @Test("a full store: discarding a document made here deletes it, and the other changes are sent")
    func full() async throws {
        try await Self.withStore(size: "1m") { mount in
            try mount.run(
                "mkdir new; head -c 3000000 /dev/zero | tr '\\0' x > new/large.bin; echo small > new/small.txt")
            try Self.refused(mount, "new/large.bin")
            #expect(try mount.overview().joined().contains("make room in the store"))
            let result = try mount.hydrant(["discard", "--yes", "--json", mount.mountPoint + "/new/large.bin"])
            #expect(result.succeeded, "\(result)")
            let gone = try JSONDecoder().decode([DiscardedChange].self, from: Data(result.stdout.utf8))
            #expect(gone.map(\.bytes) == [3_000_000] && gone[0].changes == ["creation"])
            #expect(try mount.run("ls new") == "small.txt\n")
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.hydrant(["doctor", mount.mountPoint]).succeeded)
        }
    }

    @Test("a refused deletion and a refused move are undone, and their items are shown again")
    func deletionAndMove() async throws {
        try await Self.withStore { mount in
            let inode = try mount.run("stat -c %i folder/one.txt")
            try Self.remount(mount, "ro")
            try mount.run("rm doc.txt; mv folder/one.txt moved.txt")
            try Self.refused(mount, "doc.txt")
            try Self.refused(mount, "moved.txt")
            let result = try mount.hydrant(
                ["discard", "--yes", mount.mountPoint + "/doc.txt", mount.mountPoint + "/moved.txt"])
            #expect(result.succeeded && result.stdout.contains("comes back") && result.stdout.contains("moves back"))
            // The kernel's caches as well.
            #expect(
                try mount.run("ls . folder; cat doc.txt folder/one.txt; stat -c %i folder/one.txt")
                    == ".:\ndoc.txt\nfolder\n\nfolder:\none.txt\nthe store's\none\n" + inode)
            #expect(try mount.hydrant(["sync", mount.mountPoint]).succeeded)
            #expect(try mount.hydrant(["doctor", mount.mountPoint]).succeeded)
        }
    }

    @Test(
        "a program that reads keeps its open version; a program that writes prevents the discard",
        arguments: [true, false])
    func opened(_ writes: Bool) async throws {
        try await Self.withStore { mount in
            try Self.attribute(mount, "+i", "doc.txt")
            try mount.run("echo mine > doc.txt")
            try Self.refused(mount, "doc.txt")
            let user = try mount.startPython(
                """
                file = open("doc.txt", "\(writes ? "r+" : "r")")
                print("ready")
                while not os.path.exists(SCRATCH + "/go"): time.sleep(0.01)
                print(file.read())
                """)
            try waitUntil(10, "it is open") { user.stdout.contains("ready") }
            let result = try mount.hydrant(["discard", "--yes", mount.mountPoint + "/doc.txt"])
            #expect(result.succeeded == !writes, "\(result)")
            if writes { #expect(result.stderr.contains("open for writing")) }
            try Seeding(mount.scratch).file("go", "")
            #expect(user.wait(limit: 10).stdout.contains("mine"))
            #expect(try mount.run("cat doc.txt") == (writes ? "mine\n" : "the store's\n"))
            try Self.attribute(mount, "-i", "doc.txt")
        }
    }

    @Test("on a terminal discard asks; any answer but yes changes nothing")
    func asks() async throws {
        try await Self.withStore { mount in
            try Self.attribute(mount, "+i", "doc.txt")
            try mount.run("echo mine > doc.txt")
            try Self.refused(mount, "doc.txt")
            let command = "\"$HYDRANT\" discard doc.txt"
            let no = try mount.shell(try Terminal.script(command, [.at("[y/N]", "n" + Terminal.enter)]))
            #expect(no.status == 1, "\(no)")
            #expect(try mount.run("cat doc.txt") == "mine\n")
            try mount.run(try Terminal.script(command, [.at("5 bytes will be lost", "y" + Terminal.enter)]))
            #expect(try mount.run("cat doc.txt") == "the store's\n")
            try Self.attribute(mount, "-i", "doc.txt")
        }
    }

    @Test("discards that are not possible are refused in one line, and nothing changes")
    func nothing() async throws {
        try await Self.withStore(.lateUploads) { mount in
            try mount.run("echo more >> doc.txt; echo x > 'backup~'")
            for (path, text) in [
                ("folder/one.txt", "no change"), ("none", "no such item"), ("backup~", "this machine only"),
                ("folder", "no change of its own"), ("", "root folder"),
            ] {
                let result = try mount.hydrant(
                    ["discard", "--yes", mount.mountPoint + "/doc.txt", mount.mountPoint + "/" + path])
                #expect(result.status == 1 && result.stderr.contains(text), "\(path): \(result)")
                #expect(result.stderr.split(separator: "\n").count == 1)
            }
            #expect(try mount.run("cat doc.txt") == "the store's\nmore\n")
        }
    }

    // MARK: Save

    @Test("save downloads placeholders, keeps date and mode, and overwrites nothing")
    func save() async throws {
        try await withMount(.lateUploads) {
            try Seeding($0).file("large.bin", noise(2_000_000), modified: 1_700_000_000)
            try Seeding($0).folder("folder")
        } _: { mount in
            // A part of it is ours, most of it not here.
            try mount.run(
                "printf EDIT | dd of=large.bin bs=1 seek=1000000 conv=notrunc status=none; chmod 640 large.bin")
            #expect(try mount.status("large.bin").state == .partial)
            let path = mount.mountPoint + "/large.bin"
            let result = try mount.hydrant(["save", "--json", path, mount.scratch])
            #expect(result.succeeded && result.stdout.contains("\"bytes\" : 2000000"), "\(result)")
            var expected = noise(2_000_000)
            expected.replaceSubrange(1_000_000..<1_000_004, with: Array("EDIT".utf8))
            #expect(try Seeding(mount.scratch).read("large.bin") == expected)
            #expect(
                try mount.run(
                    "stat -c '%a %Y' \"$SCRATCH/large.bin\" > \"$SCRATCH/a\"; stat -c '%a %Y' large.bin | diff - \"$SCRATCH/a\""
                ) == "")
            let saved = try Seeding(mount.scratch).names()
            for (to, text) in [
                (mount.scratch + "/large.bin", "exists already"), (mount.scratch, "exists already"),
                (mount.mountPoint + "/copy", "in the mount"), (mount.scratch + "/none/x", "No such file"),
            ] {
                let refused = try mount.hydrant(["save", path, to])
                #expect(refused.status == 1 && refused.stderr.contains(text), "\(refused)")
                #expect(refused.stderr.split(separator: "\n").count == 1)
            }
            let folder = try mount.hydrant(["save", mount.mountPoint + "/folder", mount.scratch + "/x"])
            #expect(folder.status == 1 && folder.stderr.contains("not a document"))
            let outside = try mount.hydrant(["save", mount.scratch + "/large.bin", mount.scratch + "/x"])
            #expect(outside.status == 1 && outside.stderr.contains("not in a mount of Hydrant"))
            #expect(try Seeding(mount.scratch).names() == saved)
        }
    }

    @Test("save of a document that cannot be downloaded says so, and leaves nothing behind")
    func saveAway() async throws {
        try await withMount {
            try Seeding($0).file("doc.txt", "text\n")
        } _: { mount in
            #expect(try mount.run("ls") == "doc.txt\n")
            #expect(rename(mount.store, mount.store + "-away") == 0)
            let result = try mount.hydrant(["save", mount.mountPoint + "/doc.txt", mount.scratch + "/x"])
            #expect(result.status == 1 && result.stderr.contains("cannot be downloaded"), "\(result)")
            #expect(try Seeding(mount.scratch).names() == [])
            #expect(rename(mount.store + "-away", mount.store) == 0)
        }
    }
}
