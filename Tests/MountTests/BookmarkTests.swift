import ControlAPI
import FileCoordination
import Foundation
import MountHarness
import Testing

/// Bookmarks, in Swift, from a shell and from Python.
@Suite("Bookmarks")
struct BookmarkTests {
    private struct Found: Decodable {
        var path: String
        var stale: [String]
        var writable: Bool?
    }

    private func resolve(_ mount: MountedStore, _ bookmark: String) throws -> Found {
        let result = try mount.hydrant(["bookmark", "resolve", bookmark, "--json"])
        guard result.status == 0 else { throw HarnessError("resolve: \(result.status) \(result.stderr)") }
        return try JSONDecoder().decode(Found.self, from: Data(result.stdout.utf8))
    }

    private func make(_ mount: MountedStore, _ path: String, _ options: String = "") throws -> String {
        try mount.run("\"$HYDRANT\" bookmark make \(path) \(options)").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test("a bookmark finds the item after a rename, a move, an eviction, a restart and a remount elsewhere")
    func survives() async throws {
        try await withMount(.with { $0.limit = 60 }, seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try make(mount, "a.txt")
            let before = try resolve(mount, bookmark)
            #expect(before.path == mount.mountPoint + "/a.txt")
            #expect(before.stale == [])
            #expect(before.writable == nil)
            // Nothing was downloaded for it.
            #expect(try mount.status("a.txt").state == .placeholder)

            try mount.run("mv a.txt renamed.txt; mv renamed.txt folder/moved.txt")
            let moved = mount.mountPoint + "/folder/moved.txt"
            #expect(try resolve(mount, bookmark).path == moved)
            #expect(try resolve(mount, bookmark).stale == ["path"])
            try mount.run("cat folder/moved.txt")
            try mount.sync()
            #expect(try mount.hydrant(["evict", moved]).status == 0)
            #expect(try resolve(mount, bookmark).path == moved)
            try mount.kill9()
            try mount.remount()
            #expect(try resolve(mount, bookmark).path == moved)

            // What a folder of another name shows is the same domain.
            try mount.unmount()
            let other = mount.scratch + "/other"
            let mounted = try mount.shell(
                "cd /; mkdir \(other); \"$HYDRANT\" mount dir:\"$STORE\" \(other) --state-dir \"\(mount.sandbox.state)\""
            )
            #expect(mounted.status == 0, "\(mounted.stderr)")
            #expect(try resolve(mount, bookmark).path == other + "/folder/moved.txt")
            _ = try mount.shell("cd /; \"$HYDRANT\" unmount \(other)")
            let gone = try mount.hydrant(["bookmark", "resolve", bookmark])
            #expect(gone.status == 69)
            #expect(gone.stderr.contains("is not mounted"))
            try mount.mount()
            #expect(try resolve(mount, bookmark).path == moved)
        }
    }

    @Test("a bookmark survives a save that replaces the file, also when made before the first upload")
    func saves() async throws {
        try await withMount(.lateUploads, seed: FileCoordinatorTests.seed) { mount in
            let old = try make(mount, "a.txt", "--values name,size")
            try mount.run("printf 'longer than before' > new; mv new a.txt")
            let found = try resolve(mount, old)
            #expect(found.path == mount.mountPoint + "/a.txt")
            #expect(found.stale == ["size"])
            // Not in the store yet: the catalog names it.
            try mount.run("echo fresh > fresh.txt")
            let fresh = try make(mount, "fresh.txt")
            #expect(try resolve(mount, fresh).stale == [])
            try mount.run("mv fresh.txt folder/fresh.txt")
            try mount.sync()
            #expect(try resolve(mount, fresh).path == mount.mountPoint + "/folder/fresh.txt")
        }
    }

    @Test("a bookmark carries the requested values, and reports how the item differs from them")
    func values() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try mount.run("touch -d '2020-02-02T02:02:02Z' a.txt")
            let keys = "name,size,type,contentModificationDate,creationDate"
            let bookmark = try make(mount, "a.txt", "--values \(keys)")
            let shown = try mount.run("\"$HYDRANT\" bookmark show \(bookmark)")
            #expect(shown.contains("name: a.txt\nsize: 6\ntype: public.plain-text\n"), "\(shown)")
            #expect(shown.contains("contentModificationDate: 2020-02-02T02:02:02Z\n"), "\(shown)")
            #expect(shown.contains("creationDate: 20"), "\(shown)")
            #expect(try resolve(mount, bookmark).stale == [])
            try mount.run("echo more >> a.txt")
            #expect(try resolve(mount, bookmark).stale == ["contentModificationDate", "size"])
            try mount.run("mv a.txt a.jpeg")
            #expect(try resolve(mount, bookmark).stale == ["contentModificationDate", "name", "path", "size", "type"])
            // Of what was not asked for nothing is said.
            let folder = try make(mount, "folder", "--values type")
            let output = try mount.run("\"$HYDRANT\" bookmark show \(folder)")
            #expect(
                output.hasPrefix("domain: ") && output.hasSuffix("\npath: folder\nright: none\ntype: public.folder\n"))
            for right in ["read", "write"] {
                let granted = try make(mount, "a.jpeg", "--grant \(right)")
                #expect(
                    try mount.run("\"$HYDRANT\" bookmark show \(granted)").hasSuffix("path: a.jpeg\nright: \(right)\n"))
            }
            let few = try mount.hydrant(["bookmark", "make", mount.mountPoint, "--values", "colour"])
            #expect(few.status == 64)
        }
    }

    @Test(
        "bookmarks are signed: a changed or cut one, another domain's, and a deleted item's are refused with a reason")
    func refusals() async throws {
        try await FileCoordinatorTests.withDomain { mount in
            let bookmark = try await Bookmark.make(of: FileCoordinatorTests.url(mount, "a.txt"), including: [.name])
            #expect(bookmark.resourceValues?.name == "a.txt")
            var bytes = [UInt8](bookmark.data)
            for place in [4, 20, 60, bytes.count - 3] {
                bytes[place] ^= 1
                await #expect(throws: CoordinationError.self, "byte \(place)") {
                    _ = try await Bookmark(data: Data(bytes)).resolve()
                }
                bytes[place] ^= 1
            }
            _ = try await Bookmark(data: Data(bytes)).resolve()
            func code(_ bookmark: Bookmark) async -> CoordinationError.Code? {
                do {
                    _ = try await bookmark.resolve()
                    return nil
                } catch { return (error as? CoordinationError)?.code }
            }
            #expect(await code(Bookmark(data: Data(bytes.dropLast(9)))) == .badBookmark)
            #expect(await code(Bookmark(data: Data("HYB1".utf8))) == .badBookmark)
            // A right cannot be written into it: its name would have to be signed.
            let text = String(decoding: bytes[36...], as: UTF8.self)
            let forged = text.replacing("{\"created\"", with: "{\"grant\":\"\(UUID().uuidString)\",\"created\"")
            #expect(forged != text)
            #expect(await code(Bookmark(data: Data(bytes[..<36]) + Data(forged.utf8))) == .badBookmark)

            // The key is another one where the state is: as if it was another domain.
            try mount.run("cd /; \"$HYDRANT\" unmount \"$MOUNT\"; rm \(mount.sandbox.state)/bookmarks.json")
            try mount.mount()
            #expect(await code(bookmark) == .notInADomain)
            let again = try await Bookmark.make(of: FileCoordinatorTests.url(mount, "a.txt"))
            try mount.run("rm a.txt; \"$HYDRANT\" sync \"$MOUNT\"")
            #expect(await code(again) == .noSuchItem)
            let key = try FileManager.default.attributesOfItem(atPath: mount.sandbox.state + "/bookmarks.json")
            #expect(key[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("the provider is asked for its own identifiers: a rename on another machine is followed")
    func otherMachine() async throws {
        try await withMount(.with { $0.store = .directory }, seed: FileCoordinatorTests.seed) { mount in
            let bookmark = try make(mount, "folder/in.txt")
            try mount.run("mv \"$STORE/folder/in.txt\" \"$STORE/elsewhere.txt\"")
            try waitUntil(10, "the move is seen") {
                try resolve(mount, bookmark).path == mount.mountPoint + "/elsewhere.txt"
            }
            // A catalog that never listed the folder finds it as well: the provider knows where it is.
            try mount.unmount()
            try mount.run("cd /; rm -r \(mount.sandbox.state)/catalog.sqlite* \(mount.sandbox.state)/content")
            try mount.mount()
            #expect(try resolve(mount, bookmark).path == mount.mountPoint + "/elsewhere.txt")
        }
    }

    @Test("Python keeps a bookmark in a file, and finds the item after a rename")
    func python() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let found = try mount.python(
                """
                import json, os, subprocess
                hydrant, mount = os.environ["HYDRANT"], os.environ["MOUNT"]
                made = json.loads(subprocess.check_output([hydrant, "bookmark", "make", mount + "/a.txt", "--json"]))
                with open(os.environ["SCRATCH"] + "/kept", "w") as file: file.write(made["bookmark"] + "\\n")
                os.rename(mount + "/a.txt", mount + "/folder/b.txt")
                found = json.loads(subprocess.check_output(
                    [hydrant, "bookmark", "resolve", os.environ["SCRATCH"] + "/kept", "--json"]))
                assert found["stale"] == ["path"] and found["writable"] is None, found
                print(open(found["path"]).read(), end="")
                """)
            #expect(found == "first\n")
        }
    }
}
