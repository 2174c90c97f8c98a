import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

/// A change that somebody else makes in the store shows within a second, and never as stale bytes.
@Suite("Changes made in the store")
struct StoreChangeTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("doc.txt", "first version\n", modified: 1_600_000_000)
        try seeding.file("other.txt", "other\n", modified: 1_600_000_000)
        try seeding.file("folder/deep/doc.txt", "deep first\n", modified: 1_600_000_000)
    }
    static let options: [MountOptions] = [
        .with { $0.isAlone = true },
        .with {
            $0.isAlone = true; $0.passthrough = false
        },
    ]

    /// Everything was listed, and read or not, before the store changes.
    private static func check(
        _ options: MountOptions, isRead: Bool, change: @escaping @Sendable (Seeding) throws -> Void,
        shows: @escaping @Sendable (RealFileSystem) throws -> Bool
    ) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("ls -lR >/dev/null")
            if isRead { try mount.run("find . -type f -exec cat {} + >/dev/null") }
            let files = RealFileSystem(root: mount.mountPoint)
            #expect(try !shows(files))
            try change(Seeding(mount.store))
            try waitUntil(1, "the change shows") { try shows(files) }
            try mount.requireSameAsStore()
        }
    }

    private static func shows(_ path: FSPath, _ text: String) -> @Sendable (RealFileSystem) throws -> Bool {
        { files in
            guard try files.exists(path), try files.stat(path).size == text.utf8.count else { return false }
            return try files.text(path) == text
        }
    }

    @Test("edited in place, to another size", arguments: options, [true, false])
    func edited(_ options: MountOptions, isRead: Bool) async throws {
        try await Self.check(options, isRead: isRead) { store in
            try store.file("doc.txt", "second version, longer\n")
        } shows: {
            try Self.shows("doc.txt", "second version, longer\n")($0)
        }
    }

    @Test("edited in place, to the same size", arguments: options, [true, false])
    func sameSize(_ options: MountOptions, isRead: Bool) async throws {
        try await Self.check(options, isRead: isRead) { store in
            let handle = try FileHandle(
                forUpdating: URL(filePath: store.root + "/doc.txt", directoryHint: .notDirectory))
            try handle.write(contentsOf: Data("FIRST".utf8))
            try handle.close()
        } shows: {
            try Self.shows("doc.txt", "FIRST version\n")($0)
        }
    }

    @Test("replaced by rename, as editors save", arguments: options, [true, false])
    func replaced(_ options: MountOptions, isRead: Bool) async throws {
        try await Self.check(options, isRead: isRead) { store in
            try store.file("doc.txt.tmp", "replaced\n")
            try RealFileSystem(root: store.root).rename("doc.txt.tmp", to: "doc.txt")
        } shows: { files in
            try Self.shows("doc.txt", "replaced\n")(files) && files.names() == ["doc.txt", "folder", "other.txt"]
        }
    }

    @Test(
        "another change time with the same contents: nothing is downloaded again, nor kept twice",
        .notOverWebDAV("Apache's entity tags are made of size and date, which are as before"))
    func touched() async throws {
        // Of the file that is "$f".
        let touches = [
            "mode": "chmod 644 $f", "owner": "chown $(id -u) $f", "access": "touch -a -d @1 $f",
            "date": "touch -d @1600000000 $f", "link": "ln $f $f.b; rm $f.b", "move": "mv $f $f.b; mv $f.b $f",
            "attribute": "setfattr -n trusted.x -v 1 $f",
        ]
        let rewrite = "printf FIRST | dd of=$f conv=notrunc 2>/dev/null; touch -d @1600000000 $f"
        try await withMount(
            .with { $0.isAlone = true },
            seed: { store in
                for name in ["written", "names"] + touches.keys {
                    for folder in ["read", "changed"] {
                        try Seeding(store).file("\(folder)/\(name)", "first version\n", modified: 1_600_000_000)
                    }
                }
            }
        ) { mount in
            let files = RealFileSystem(root: mount.mountPoint)
            func inStore(_ script: String, on name: String) throws {
                let all = "cd '\(mount.store)'; for f in read/\(name) changed/\(name); do \(script); done"
                #expect(try mount.sandbox.run(["sh", "-ec", all], limit: 5).succeeded, "\(name)")
            }
            func shows(_ what: String) throws {
                for folder in ["read", "changed"] { try Seeding(mount.store).file("\(folder)/\(what)", what) }
                try waitUntil(10, "\(what) shows") {
                    try files.exists(FSPath("read/\(what)")) && files.exists(FSPath("changed/\(what)"))
                }
            }
            try mount.run(
                "cat */* >/dev/null; \"$HYDRANT\" pause \"$MOUNT\"; for f in changed/*; do echo mine >$f; done")
            try inStore("ln $f $f.b", on: "names")
            try shows("one")
            for (name, script) in touches { try inStore(script, on: name) }
            try inStore("rm $f.b", on: "names")
            try inStore(rewrite, on: "written")
            // What is listed with it has been looked at after all that.
            try shows("two")
            for name in ["names"] + touches.keys {
                #expect(try mount.status("read/\(name)").state == .downloaded, "\(name)")
            }
            #expect(try files.text("read/written") == "FIRST version\n")
            try mount.run("\"$HYDRANT\" resume \"$MOUNT\"")
            try mount.sync()
            for name in ["names"] + touches.keys {
                #expect(try Seeding(mount.store).text("changed/\(name)") == "mine\n", "\(name)")
            }
            #expect(try Seeding(mount.store).text("changed/written") == "FIRST version\n")
            // Of the one that was written.
            #expect(try mount.run("cd changed; ls | grep -c copy; cat *copy*") == "1\nmine\n")
            try mount.requireSameAsStore()
        }
    }

    @Test("in a subfolder", arguments: options, [true, false])
    func deep(_ options: MountOptions, isRead: Bool) async throws {
        try await Self.check(options, isRead: isRead) { store in
            try store.file("folder/deep/doc.txt", "deep second version\n")
        } shows: {
            try Self.shows("folder/deep/doc.txt", "deep second version\n")($0)
        }
    }

    @Test("a new document, a new folder with one", arguments: options)
    func new(_ options: MountOptions) async throws {
        try await Self.check(options, isRead: true) { store in
            try store.file("new.txt", "new\n")
            try store.file("made/below/new.txt", "below\n")
        } shows: { files in
            try Self.shows("new.txt", "new\n")(files) && Self.shows("made/below/new.txt", "below\n")(files)
                && files.names() == ["doc.txt", "folder", "made", "new.txt", "other.txt"]
        }
    }

    @Test("deleted", arguments: options, [true, false])
    func deleted(_ options: MountOptions, isRead: Bool) async throws {
        try await Self.check(options, isRead: isRead) { store in
            try RealFileSystem(root: store.root).unlink("doc.txt")
            try FileManager.default.removeItem(atPath: store.root + "/folder")
        } shows: { files in
            try !files.exists("doc.txt") && !files.exists("folder") && files.names() == ["other.txt"]
        }
    }

    @Test("renamed, into another folder: the same document", arguments: options, [true, false])
    func renamed(_ options: MountOptions, isRead: Bool) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("ls -lR >/dev/null")
            if isRead { try mount.run("cat doc.txt >/dev/null") }
            let before = try mount.status("doc.txt")
            try RealFileSystem(root: mount.store).rename("doc.txt", to: "folder/deep/renamed.txt")
            let files = RealFileSystem(root: mount.mountPoint)
            try waitUntil(1, "the new name shows, and the old one does not") {
                try !files.exists("doc.txt") && files.exists("folder/deep/renamed.txt")
            }
            let after = try mount.status("folder/deep/renamed.txt")
            #expect(after.identifier == before.identifier, "\(mount.logTail)")
            #expect(after.state == before.state)
            #expect(try files.text("folder/deep/renamed.txt") == "first version\n")
            try mount.requireSameAsStore()
        }
    }

    @Test("ls by another process shows the change too, not only a stat of the file")
    func listed() async throws {
        try await withMount(.with { $0.isAlone = true }, seed: Self.seed) { mount in
            try mount.run("ls -l >/dev/null")
            try Seeding(mount.store).file("doc.txt", "0123456789", modified: 1_700_000_000)
            try waitUntil(1, "ls -l shows size and date") {
                try mount.run("ls -l --time-style=+%s doc.txt").contains(" 10 1700000000 doc.txt")
            }
        }
    }

    @Test(
        "a program that has the document open keeps reading the old version; a new open gets the new one",
        arguments: options)
    func openReader(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let files = RealFileSystem(root: mount.mountPoint)
            #expect(try files.text("doc.txt") == "first version\n")
            let descriptor = open(mount.mountPoint + "/doc.txt", O_RDONLY)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            try Seeding(mount.store).file("doc.txt", "second version, longer\n")
            try waitUntil(1, "a fresh open has it") { try files.text("doc.txt") == "second version, longer\n" }
            var buffer = [UInt8](repeating: 0, count: 100)
            let count = pread(descriptor, &buffer, 100, 0)
            #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "first version\n")
        }
    }

    /// Replaces a document a hundred times, as editors save, and reads it in between.
    private static func replaceOften(_ mount: MountedStore, failed: (FSError) -> Void) throws {
        let files = RealFileSystem(root: mount.mountPoint)
        var seen = 0
        for number in 1...100 {
            try Seeding(mount.store).file("doc.txt.new", String(repeating: "\(number) ", count: 200))
            try RealFileSystem(root: mount.store).rename("doc.txt.new", to: "doc.txt")
            let text: String
            do { text = try files.text("doc.txt") } catch {
                failed(error)
                continue
            }
            if text.hasPrefix("first") { continue }
            // All of one version, and never an older one than before.
            let words = text.split(separator: " ")
            #expect(Set(words).count == 1)
            let version = try #require(words.first.flatMap { Int($0) })
            #expect(version >= seen && version <= number)
            seen = version
        }
        try waitUntil(1, "the last version shows") {
            // A version that is being opened may be replaced in that moment.
            do { return try files.text("doc.txt").hasPrefix("100 100 ") } catch let error as FSError {
                guard [ESTALE, ENOENT].contains(error.errno) else { throw error }
                return false
            }
        }
        try mount.requireSameAsStore()
    }

    @Test("a hundred changes in a row: the last one shows, without a stale byte", arguments: options)
    func neverStale(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try Self.replaceOften(mount) { error in
                // The version that was opened is gone from the store. (ENOENT: see the next test.)
                #expect([ESTALE, ENOENT].contains(error.errno))
            }
        }
    }

    @Test("a document that is replaced by rename is never absent, not for a moment", arguments: options)
    func neverAbsent(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let files = RealFileSystem(root: mount.mountPoint)
            var shortest = Double.infinity
            for number in 1...20 {
                try Seeding(mount.store).file("doc.txt.new", "version \(number)\n")
                try RealFileSystem(root: mount.store).rename("doc.txt.new", to: "doc.txt")
                let seconds = try elapsed {
                    try waitUntil(1, "version \(number) shows") {
                        // Throws where it is absent.
                        _ = try files.stat("doc.txt")
                        do { return try files.text("doc.txt") == "version \(number)\n" } catch let error as FSError {
                            guard error.errno == ESTALE else { throw error }
                            return false
                        }
                    }
                }
                shortest = min(shortest, seconds)
            }
            // (On a busy machine the others may take longer.)
            #expect(shortest < 1)
        }
    }

    @Test("a document that is replaced faster than the mount can follow is never absent", arguments: options)
    func neverAbsentWhenFast(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            var vanished = 0
            try Self.replaceOften(mount) { error in if error.errno == ENOENT { vanished += 1 } }
            #expect(vanished == 0)
        }
    }
}
