import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// Catalog, content store and store, held against each other.
@Suite("hydrant doctor")
struct DoctorTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("doc.txt", "document\n")
        try seeding.file("other.txt", "other\n")
        try seeding.file("large.bin", noise(2_000_000))
        for number in 1...20 { try seeding.file("tree/\(number % 4)/\(number % 3)/file\(number)", "file \(number)\n") }
    }

    private static func doctor(_ mount: MountedStore, _ arguments: [String] = [], at place: String? = nil) throws
        -> ChildResult
    {
        try mount.hydrant(["doctor", place ?? mount.sandbox.state] + arguments)
    }

    private static func checkClean(_ mount: MountedStore, _ arguments: [String] = [], at place: String? = nil) throws {
        let result = try doctor(mount, arguments, at: place)
        #expect(result.succeeded && result.stdout.contains("nothing is wrong"), "\(result)")
    }

    /// The local file with this text in it, or of this size.
    private static func file(_ mount: MountedStore, _ test: [String]) throws -> String {
        let result = try mount.sandbox.run(test + ["-r", mount.sandbox.state + "/content/storage"], limit: 10)
        return try #require(result.lines.first)
    }

    private static let writers = "SELECT COUNT(*) FROM inode WHERE writing <> 0"

    /// Asks the catalog past everybody.
    private static func query(_ mount: MountedStore, _ sql: String) throws -> String {
        let script = """
            import sqlite3, sys
            db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
            print(db.execute(sys.argv[2]).fetchone()[0])
            """
        let catalog = mount.sandbox.state + "/catalog.sqlite"
        return try mount.sandbox.run(["python3", "-c", script, catalog, sql], limit: 10).stdout
    }

    /// What programs do in an hour.
    private static let busy = """
        cp -r tree clone; git init -q repo; cp -r tree repo/tree
        (cd repo; git -c user.name=a -c user.email=a@b add -A; git -c user.name=a -c user.email=a@b commit -qm one)
        ls -lR > /dev/null; cat tree/*/*/* > /dev/null; head -c 10 large.bin > /dev/null
        mv tree/1 tree/renamed; mv clone/2 tree/3/moved; mv doc.txt tree/doc.txt; mv -n other.txt doc.txt
        ln tree/doc.txt linked; ln linked linked2; rm tree/doc.txt; ln -s nowhere link; mkfifo pipe
        exec 5> open; echo unlinked >&5; rm open; exec 6< doc.txt; rm doc.txt
        printf EDIT | dd of=large.bin bs=1 seek=1000000 conv=notrunc status=none
        sed -i s/file/edited/ tree/0/0/*; truncate -s 3 tree/0/1/* ; truncate -s 100 tree/0/2/*
        mkdir -p a/b/c; rmdir a/b/c; mv a/b c; rm -r clone/3
        for n in $(seq 50); do echo $n > swap; mv swap target; done
        """

    @Test(
        "no problems after a busy hour: mounted, unmounted, after kill -9 and after sync",
        arguments: [MountOptions(), .cached, .lateUploads])
    func busyHour(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let holder = try mount.start(Self.busy + "\necho ready > \"$SCRATCH/ready\"; sleep 600")
            try waitUntil(25, "the hour is over") { FileManager.default.fileExists(atPath: mount.scratch + "/ready") }
            try Self.checkClean(mount, at: mount.mountPoint)
            try Self.checkClean(mount)
            holder.destroy()
            try mount.unmount()
            try Self.checkClean(mount)
            try mount.mount()
            try mount.run("echo again > again; echo more >> linked2; mv tree tree2")
            try mount.kill9()
            try Self.checkClean(mount)
            try mount.mount()
            try mount.sync()
            try Self.checkClean(mount, ["--store"], at: mount.mountPoint)
            try mount.unmount()
            try Self.checkClean(mount, ["--store"])
            try Self.checkClean(mount, ["--repair"])
        }
    }

    /// Which the next mount removes.
    @Test("a leftover copy of a killed daemon's upload is not a problem")
    func cutOffUpload() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.kill9()
            let left = mount.sandbox.state + "/content/uploads/157.1"
            try "half of it".write(toFile: left, atomically: false, encoding: .utf8)
            try Self.checkClean(mount)
            try mount.mount()
            #expect(!FileManager.default.fileExists(atPath: left))
        }
    }

    @Test("a mount point may be given through links, to doctor and other commands")
    func throughLinks() async throws {
        try await withMount(seed: Self.seed) { mount in
            let link = mount.scratch + "/link"
            try #require(symlink(mount.mountPoint, link) == 0 && symlink("link", mount.scratch + "/second") == 0)
            for place in [link, link + "/", mount.scratch + "/second"] {
                let result = try Self.doctor(mount, at: place)
                #expect(result.succeeded && result.stdout.contains("(checked while mounted)"), "\(result)")
                let status = try mount.hydrant(["status", place])
                #expect(status.succeeded, "\(status)")
            }
            // (A link in the mount is an item of its own.)
            try mount.run("ln -s doc.txt inside")
            #expect(try mount.hydrant(["status", mount.mountPoint + "/inside"]).stdout.contains("inside"))
        }
    }

    @Test("temporary differences while programs write are not problems")
    func underLoad() async throws {
        try await withMount(seed: Self.seed) { mount in
            let writer = try mount.start(
                "while true; do for n in 1 2 3 4 5; do echo $RANDOM > f$n; mv f$n g$n; rm -f h$n; ln g$n h$n; done; done"
            )
            for _ in 0..<5 { try Self.checkClean(mount) }
            writer.destroy()
        }
    }

    @Test("a missing file of an unmodified document: reported, repaired, downloaded again")
    func missingContent() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("cat doc.txt other.txt > /dev/null")
            try waitUntil(5, "downloaded") { try mount.status("doc.txt").state == .downloaded }
            try mount.unmount()
            try #require(unlink(try Self.file(mount, ["grep", "-lx", "document"])) == 0)
            let found = try Self.doctor(mount)
            #expect(found.status == 1 && found.stdout.contains("/doc.txt") && found.stdout.contains("is missing"))
            #expect(found.stdout.contains("--repair") && !found.stdout.contains("DATA LOSS"))
            // Looking changed nothing.
            #expect(try Self.doctor(mount).stdout == found.stdout)
            let repaired = try Self.doctor(mount, ["--repair"])
            #expect(repaired.status == 1 && repaired.stdout.contains("repaired: "))
            try Self.checkClean(mount)
            try mount.mount()
            #expect(try mount.status("doc.txt").state == .placeholder)
            #expect(try mount.run("cat doc.txt") == "document\n")
        }
    }

    @Test("a missing file of a modified document is data loss, and comes first")
    func loss() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.run("echo precious > new.txt; cat doc.txt > /dev/null; echo longer-than-it-was > short.txt")
            // The last RELEASE may come after close; until then the document has a mark, and no size of its own.
            try waitUntil(5, "the writers are done") { try Self.query(mount, Self.writers) == "0\n" }
            try mount.unmount()
            try #require(unlink(try Self.file(mount, ["grep", "-lx", "document"])) == 0)
            try #require(unlink(try Self.file(mount, ["grep", "-lx", "precious"])) == 0)
            try #require(truncate(try Self.file(mount, ["grep", "-lx", "longer-than-it-was"]), 3) == 0)
            let found = try Self.doctor(mount)
            #expect(found.status == 1 && found.lines.count == 4, "\(found)")
            #expect(found.lines.filter { $0.hasPrefix("DATA LOSS: ") }.count == 2)
            #expect(found.lines[0].hasPrefix("DATA LOSS: ") && found.lines[1].hasPrefix("DATA LOSS: "))
            #expect(found.stdout.contains("DATA LOSS: /new.txt") && found.stdout.contains("DATA LOSS: /short.txt"))
            // No repair makes it look well.
            let repaired = try Self.doctor(mount, ["--repair"])
            #expect(repaired.lines.filter { $0.contains("cannot fix it") }.count == 2)
            #expect(try Self.doctor(mount).lines.count == 3)
        }
    }

    @Test("a file that the catalog does not know is put aside, never deleted")
    func stray() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            try mount.unmount()
            let content = Seeding(mount.sandbox.state + "/content")
            try content.file("storage/07/7777.3", "somebody's\n")
            let found = try Self.doctor(mount)
            #expect(found.status == 1 && found.stdout.contains("storage/07/7777.3"))
            #expect(try Self.doctor(mount, ["--repair"]).status == 1)
            #expect(try content.text("lost+found/7777.3") == "somebody's\n")
            try Self.checkClean(mount)
            try mount.mount()
            try Self.checkClean(mount)
            #expect(try content.text("lost+found/7777.3") == "somebody's\n")
        }
    }

    @Test("a catalog that contradicts itself: reported, link counts repaired, folders listed again")
    func brokenCatalog() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("ls -R > /dev/null")
            try mount.unmount()
            let script = """
                import sqlite3, sys
                db = sqlite3.connect(sys.argv[1])
                db.execute("UPDATE inode SET nlink = 5 WHERE id = (SELECT inode FROM name WHERE name = CAST('doc.txt' AS BLOB))")
                db.execute("UPDATE inode SET nlink = 9 WHERE id = (SELECT inode FROM name WHERE name = CAST('tree' AS BLOB))")
                db.commit()
                """
            let catalog = mount.sandbox.state + "/catalog.sqlite"
            let broken = try mount.sandbox.run(["python3", "-c", script, catalog], limit: 10)
            #expect(broken.succeeded, "\(broken)")
            let found = try Self.doctor(mount)
            #expect(found.status == 1 && found.lines.count == 3 && found.stdout.contains("/doc.txt"), "\(found)")
            #expect(try Self.doctor(mount, ["--repair"]).lines.filter { $0.contains("repaired: ") }.count == 2)
            try Self.checkClean(mount)
            try mount.mount()
            #expect(try mount.run("stat -c %h doc.txt tree") == "1\n6\n")
            try mount.requireSameAsStore()
        }
    }

    @Test("--store: items deleted, changed or moved in the store are reported")
    func store() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run("ls -R > /dev/null")
            try mount.unmount()
            try Self.checkClean(mount, ["--store"])
            let store = RealFileSystem(root: mount.store)
            try store.unlink("doc.txt")
            try Seeding(mount.store).file("other.txt", "changed there\n")
            try #require(rename(mount.store + "/large.bin", mount.store + "/tree/moved.bin") == 0)
            let found = try Self.doctor(mount, ["--store"])
            #expect(found.status == 1, "\(found)")
            for text in ["/doc.txt", "no longer has it", "/other.txt", "another version", "/large.bin"] {
                #expect(found.stdout.contains(text), "\(text): \(found)")
            }
            // Without the question nothing is wrong here.
            try Self.checkClean(mount)
            _ = try Self.doctor(mount, ["--store", "--repair"])
            try mount.mount()
            try mount.requireSameAsStore()
            try mount.unmount()
            try Self.checkClean(mount, ["--store"])
        }
    }

    @Test("refused: --repair while mounted, and a directory that is not a state directory")
    func refusals() async throws {
        try await withMount(seed: Self.seed) { mount in
            for place in [mount.mountPoint, mount.sandbox.state] {
                let result = try Self.doctor(mount, ["--repair"], at: place)
                #expect(result.status == 1 && result.stderr.contains("unmount"), "\(result)")
            }
            let result = try Self.doctor(mount, at: mount.store)
            #expect(result.status == 1 && result.stderr.contains("not a state directory"))
        }
    }
}
