import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

/// Each operation, in process against a Volume and through a real mount.
@Suite("Every operation, in process and at a mount")
struct OperationTests {
    static func seed(_ scene: any Scene) throws {
        try scene.storeWrites("a.txt", "alpha")
        try scene.storeWrites("b.txt", "beta")
        try scene.storeWrites("folder/inner.txt", "inside")
        try scene.storeWrites("folder/deep/deepest.bin", noise(200_000))
    }

    @Test("lookup and stat", arguments: Stage.allCases)
    func lookup(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            #expect(try files.names() == ["a.txt", "b.txt", "folder"])
            let document = try files.stat("folder/deep/deepest.bin")
            #expect(document.kind == .document)
            #expect(document.size == 200_000)
            #expect(document.links == 1)
            #expect(try files.stat("folder").kind == .folder)
            #expect(try files.stat("a.txt").inode != files.stat("b.txt").inode)
            #expect(errnoOf { () throws(FSError) in _ = try files.stat("no such name") } == ENOENT)
            #expect(errnoOf { () throws(FSError) in _ = try files.stat("no/such/folder") } == ENOENT)
            #expect(errnoOf { () throws(FSError) in _ = try files.stat("a.txt/below") } == ENOTDIR)
        }
    }

    @Test("read: all, a part, past the end", arguments: Stage.allCases)
    func read(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            let bytes = noise(200_000)
            let part = try files.read("folder/deep/deepest.bin", at: 150_000, 10)
            #expect(part == Array(bytes[150_000..<150_010]))
            #expect(try files.readAll("folder/deep/deepest.bin") == bytes)
            #expect(try files.read("a.txt", at: 3, 100) == Array("ha".utf8))
            #expect(try files.read("a.txt", at: 5, 100).isEmpty)
            #expect(try files.read("a.txt", at: 5_000_000, 100).isEmpty)
            // Again, now that it is here.
            #expect(try files.readAll("folder/deep/deepest.bin") == bytes)
        }
    }

    @Test("write, append, overwrite in place, grow past the end", arguments: Stage.allCases)
    func write(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.put("new.txt", "first")
            #expect(try files.text("new.txt") == "first")
            try files.append("new.txt", " second")
            try files.append("a.txt", " and omega")
            try files.write("b.txt", Array("ET".utf8), at: 1, flags: 0)
            try files.write("folder/inner.txt", Array("!".utf8), at: 10, flags: 0)
            #expect(try files.text("a.txt") == "alpha and omega")
            #expect(try files.stat("a.txt").size == 15)
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store["new.txt"] == .document(Array("first second".utf8)))
            #expect(store["a.txt"] == .document(Array("alpha and omega".utf8)))
            #expect(store["b.txt"] == .document(Array("bETa".utf8)))
            #expect(store["folder/inner.txt"] == .document(Array("inside\0\0\0\0!".utf8)))
            #expect(try files.text("new.txt") == "first second")
        }
    }

    @Test("a write into a placeholder keeps the bytes around it", arguments: Stage.allCases)
    func writeIntoPlaceholder(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            var bytes = noise(200_000)
            try scene.files.write("folder/deep/deepest.bin", [1, 2, 3], at: 100_000, flags: 0)
            bytes.replaceSubrange(100_000..<100_003, with: [1, 2, 3])
            try scene.sync()
            #expect(try scene.storeContents()["folder/deep/deepest.bin"] == .document(bytes))
            #expect(try scene.files.readAll("folder/deep/deepest.bin") == bytes)
        }
    }

    @Test("truncate: shorter, to nothing, longer; O_TRUNC", arguments: Stage.allCases)
    func truncate(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.truncate("a.txt", to: 2)
            #expect(try files.text("a.txt") == "al")
            try files.truncate("a.txt", to: 4)
            #expect(try files.readAll("a.txt") == Array("al\0\0".utf8))
            try files.truncate("b.txt", to: 0)
            #expect(try files.stat("b.txt").size == 0)
            try files.truncate("folder/deep/deepest.bin", to: 100)
            try files.write("folder/inner.txt", [], at: 0, flags: O_TRUNC)
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store["a.txt"] == .document(Array("al\0\0".utf8)))
            #expect(store["b.txt"] == .document([]))
            #expect(store["folder/deep/deepest.bin"] == .document(Array(noise(200_000).prefix(100))))
            #expect(store["folder/inner.txt"] == .document([]))
        }
    }

    @Test("chmod and touch show at once and after a sync", arguments: Stage.allCases)
    func attributes(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.chmod("a.txt", 0o640)
            try files.chmod("folder", 0o700)
            try files.setModified("a.txt", 1_234_567_890_123_456_789)
            try files.setModified("folder", 1_000_000_000_000_000_000)
            for _ in 0..<2 {
                #expect(try files.stat("a.txt").mode == 0o640)
                #expect(try files.stat("a.txt").modified == 1_234_567_890_123_456_789)
                #expect(try files.stat("folder").mode == 0o700)
                #expect(try files.stat("folder").modified == 1_000_000_000_000_000_000)
                try scene.sync()
            }
            #expect(try files.text("a.txt") == "alpha")
        }
    }

    @Test("create with O_EXCL: once, and never over an existing file", arguments: Stage.allCases)
    func exclusive(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.createExclusively("mine")
            #expect(errnoOf { () throws(FSError) in try files.createExclusively("mine") } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.createExclusively("a.txt") } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.createExclusively("folder") } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.createExclusively("nowhere/mine") } == ENOENT)
            try scene.sync()
            #expect(try scene.storeContents()["mine"] == .document([]))
            #expect(try scene.storeContents()["a.txt"] == .document(Array("alpha".utf8)))
        }
    }

    @Test("mkdir and rmdir, also of a folder that is not empty", arguments: Stage.allCases)
    func folders(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.mkdir("made")
            try files.mkdir("made/below")
            #expect(errnoOf { () throws(FSError) in try files.mkdir("made") } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.mkdir("a.txt") } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.rmdir("made") } == ENOTEMPTY)
            // Not even when nobody has looked into it yet.
            #expect(errnoOf { () throws(FSError) in try files.rmdir("folder") } == ENOTEMPTY)
            #expect(errnoOf { () throws(FSError) in try files.rmdir("a.txt") } == ENOTDIR)
            #expect(errnoOf { () throws(FSError) in try files.rmdir("nothing") } == ENOENT)
            try scene.sync()
            #expect(try scene.storeContents()["made/below"] == .folder)
            try files.rmdir("made/below")
            try files.rmdir("made")
            try scene.sync()
            #expect(try scene.storeContents()["made"] == nil)
            #expect(try files.names() == ["a.txt", "b.txt", "folder"])
        }
    }

    @Test("unlink, and its refusals", arguments: Stage.allCases)
    func unlink(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.unlink("a.txt")
            #expect(try files.exists("a.txt") == false)
            #expect(errnoOf { () throws(FSError) in try files.unlink("a.txt") } == ENOENT)
            #expect([EISDIR, EPERM].contains(errnoOf { () throws(FSError) in try files.unlink("folder") }))
            try files.put("brief", "here and gone")
            try files.unlink("brief")
            try scene.sync()
            #expect(
                try scene.storeContents().keys.sorted() == [
                    "b.txt", "folder", "folder/deep", "folder/deep/deepest.bin", "folder/inner.txt",
                ])
        }
    }

    @Test("rename: to a free name, over a document, into another folder", arguments: Stage.allCases)
    func rename(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            let inode = try files.stat("a.txt").inode
            try files.rename("a.txt", to: "folder/moved.txt")
            #expect(try files.stat("folder/moved.txt").inode == inode)
            #expect(try files.exists("a.txt") == false)
            try files.rename("folder/moved.txt", to: "b.txt")
            #expect(try files.text("b.txt") == "alpha")
            try files.rename("folder/deep", to: "up")
            #expect(try files.readAll("up/deepest.bin") == noise(200_000))
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store["b.txt"] == .document(Array("alpha".utf8)))
            #expect(store["up/deepest.bin"] == .document(noise(200_000)))
            #expect(store.keys.sorted() == ["b.txt", "folder", "folder/inner.txt", "up", "up/deepest.bin"])
        }
    }

    @Test("rename: its refusals", arguments: Stage.allCases)
    func renameRefused(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.mkdir("empty")
            #expect(errnoOf { () throws(FSError) in try files.rename("folder", to: "folder/deep/folder") } == EINVAL)
            #expect(errnoOf { () throws(FSError) in try files.rename("empty", to: "folder") } == ENOTEMPTY)
            #expect(errnoOf { () throws(FSError) in try files.rename("a.txt", to: "b.txt", noReplace: true) } == EEXIST)
            #expect(errnoOf { () throws(FSError) in try files.rename("nothing", to: "b.txt") } == ENOENT)
            #expect(errnoOf { () throws(FSError) in try files.rename("a.txt", to: "nowhere/a.txt") } == ENOENT)
            if stage.isMount {
                // These are answered by the kernel.
                #expect(errnoOf { () throws(FSError) in try files.rename("a.txt", to: "folder") } == EISDIR)
                #expect(errnoOf { () throws(FSError) in try files.rename("empty", to: "a.txt") } == ENOTDIR)
            }
            try files.rename("a.txt", to: "a.txt")
            try files.rename("folder/deep", to: "empty")
            try scene.sync()
            #expect(try scene.storeContents()["empty/deepest.bin"] == .document(noise(200_000)))
            #expect(try files.text("a.txt") == "alpha")
            #expect(try files.text("b.txt") == "beta")
        }
    }

    @Test("symlink and readlink: any target, not followed", .notOverWebDAV("symbolic links"), arguments: Stage.allCases)
    func links(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            try files.symlink("link", to: Array("a.txt".utf8))
            try files.symlink("dangling", to: Array("/no where/ümlaut".utf8))
            #expect(try files.readlink("link") == Array("a.txt".utf8))
            #expect(try files.stat("link").kind == .link)
            #expect(errnoOf { () throws(FSError) in try files.symlink("link", to: [0x61]) } == EEXIST)
            #expect(errnoOf { () throws(FSError) in _ = try files.readlink("a.txt") } == EINVAL)
            try files.rename("dangling", to: "folder/dangling")
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store["link"] == .link(target: Array("a.txt".utf8)))
            #expect(store["folder/dangling"] == .link(target: Array("/no where/ümlaut".utf8)))
            #expect(store["a.txt"] == .document(Array("alpha".utf8)))
        }
    }

    @Test("fsync and statfs", arguments: Stage.allCases)
    func syncAndStatistics(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            try scene.files.put("kept", "safe")
            try scene.files.synchronize("kept")
            try scene.files.synchronize("a.txt")
            let limits = try scene.files.limits()
            #expect(limits.longestName == 255)
            #expect(limits.blocks > 0)
            #expect(try scene.files.text("kept") == "safe")
        }
    }

    @Test(
        "names: 255 bytes yes, 256 no, bytes that are not UTF-8", .notOverWebDAV("names that are no text"),
        arguments: Stage.allCases)
    func names(_ stage: Stage) async throws {
        try await withScene(stage, seed: Self.seed) { scene in
            let files = scene.files
            let long = FSPath(names: [[UInt8](repeating: 0x78, count: 255)])
            let tooLong = FSPath(names: [[UInt8](repeating: 0x78, count: 256)])
            let raw = FSPath(names: [[0xff, 0xfe, 0x20, 0x80]])
            try files.put(long, "long")
            #expect(errnoOf { () throws(FSError) in try files.put(tooLong, "too long") } == ENAMETOOLONG)
            #expect(errnoOf { () throws(FSError) in _ = try files.stat(tooLong) } == ENAMETOOLONG)
            #expect(errnoOf { () throws(FSError) in try files.mkdir(tooLong) } == ENAMETOOLONG)
            #expect(errnoOf { () throws(FSError) in try files.rename("a.txt", to: tooLong) } == ENAMETOOLONG)
            try files.put(raw, "raw")
            #expect(try files.list(.root).contains(raw.names[0]))
            try scene.sync()
            #expect(try files.text(raw) == "raw")
            #expect(try files.text(long) == "long")
            let store = try scene.storeContents()
            #expect(store[long.description] == .document(Array("long".utf8)))
            #expect(store[raw.description] == .document(Array("raw".utf8)))
        }
    }

    @Test("a folder of 3,000 documents is listed with each name exactly once", arguments: Stage.allCases)
    func manyEntries(_ stage: Stage) async throws {
        let all = (0..<3_000).map { "document number \($0)" }
        try await withScene(stage, limit: 60) { scene in
            for name in all { try scene.storeWrites("many/" + name, "") }
        } _: { scene in
            let listed = try scene.files.list("many").map { String(decoding: $0, as: UTF8.self) }
            #expect(listed.count == 3_000)
            #expect(Set(listed) == Set(all))
            #expect(try scene.files.names("many") == all.sorted())
        }
    }

    /// As on the file system that the store is on, which may have a limit of its own (ext4: 1901 to 2446).
    @Test("dates before 1677 and after 2262, of documents, folders and links")
    func datesFarAway() async throws {
        let list = "stat -c '%.9Y %n' *1066 *2400"
        let make = """
            for date in 1066 2400; do
                echo text >doc$date; mkdir folder$date; ln -s doc$date link$date
                touch -h -d "$date-10-14 09:00:00.000000007 UTC" doc$date folder$date link$date
            done; \(list)
            """
        try await withMount(.with { $0.store = .directory }) { mount in
            let seen = try mount.run(make)
            // (As stat(1) writes 7 ns after a second before 1970.)
            for (date, seconds) in [("1066", "-28502722799.999999993"), ("2400", "13594294800.000000007")] {
                for kind in ["doc", "folder", "link"] { #expect(seen.contains("\(seconds) \(kind)\(date)\n")) }
            }
            try mount.sync()
            let elsewhere = try Sandbox()
            defer { try? elsewhere.remove() }
            func there(_ directory: String, _ script: String) throws -> String {
                try elsewhere.run(["sh", "-c", "cd '\(directory)'; \(script)"], limit: 10).stdout
            }
            #expect(try there(mount.store, list) == there(elsewhere.scratch, make))
            #expect(try mount.run(list) == seen)
        }
    }
}
