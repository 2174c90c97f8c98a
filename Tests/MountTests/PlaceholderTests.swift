import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

@Suite("Placeholders at a real mount")
struct PlaceholderTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("letter.txt", "Dear reader,\n", modified: 1_600_000_000)
        try seeding.file("photos/sea.jpg", noise(300_000), modified: 1_500_000_000)
        try seeding.file("photos/2019/hill.jpg", noise(2_000_000, seed: 2), modified: 1_700_000_000)
        try seeding.file("empty", "", modified: 1_400_000_000)
        if StoreKind.usual.hasLinks { try seeding.link("link", to: "photos/sea.jpg") }
        try seeding.folder("nothing here")
    }

    @Test("ls -lR shows every document with its name, size and date, and nothing is downloaded")
    func listing() async throws {
        try await withMount(seed: Self.seed) { mount in
            let find =
                "find . -mindepth 1 \\( -type d -printf '%P %y\\n' -o -type l -printf '%P %y %l\\n' -o -printf '%P %y %s %T@\\n' \\) | sort"
            let shown = try mount.run(find)
            let real = try mount.run("cd \"$STORE\"; " + find)
            #expect(shown == real)
            #expect(shown.contains("letter.txt f 13 1600000000"))
            try mount.run("ls -lR >/dev/null")
            #expect(mount.hookCalls().filter { $0.hook == .startProvidingItem }.isEmpty)
        }
    }

    @Test("du counts next to nothing for placeholders, and the real sizes with --apparent-size")
    func diskUse() async throws {
        try await withMount(seed: Self.seed) { mount in
            let used = try #require(Int(try mount.run("du -sB1 . | cut -f1").trimmingCharacters(in: .newlines)))
            #expect(used < 16_384)
            let sizes = try mount.run("find . -type f -printf '%s\\n' | sort -n")
            #expect(sizes == "0\n13\n300000\n2000000\n")
            // Not zero blocks: tar -S would archive a placeholder as a hole.
            #expect(try mount.run("stat -c %b letter.txt") == "1\n")
            try mount.run("cat photos/sea.jpg >/dev/null")
            // The kernel is told of the new block count after the bytes have come.
            try waitUntil(5, "du counts what was downloaded") {
                try Int(mount.run("du -sB1 . | cut -f1").trimmingCharacters(in: .newlines)).map { $0 >= 300_000 }
                    ?? false
            }
        }
    }

    @Test("status --json is an array of objects with exactly the documented keys")
    func statusKeys() async throws {
        try await withMount(seed: Self.seed) { mount in
            if !StoreKind.usual.hasLinks { try mount.run("ln -s photos/sea.jpg link") }
            let result = try mount.hydrant([
                "status", "--json", mount.mountPoint + "/letter.txt", mount.mountPoint + "/photos",
                mount.mountPoint + "/link",
            ])
            let objects = try #require(
                try JSONSerialization.jsonObject(with: Data(result.stdout.utf8)) as? [[String: Any]])
            #expect(objects.count == 3)
            let keys: Set = [
                "path", "identifier", "kind", "state", "modified", "pinned", "excluded", "size", "bytesDownloaded",
                "version",
                "error",
            ]
            for object in objects { #expect(Set(object.keys) == keys) }
            #expect(objects[0]["path"] as? String == mount.mountPoint + "/letter.txt")
            #expect(objects.map { $0["kind"] as? String } == ["document", "folder", "link"])
            #expect(objects[0]["error"] is NSNull)
        }
    }

    @Test("placeholder, partial, downloaded: the states that status shows")
    func states() async throws {
        try await withMount(seed: Self.seed) { mount in
            let before = try mount.status("photos/sea.jpg")
            #expect(before.state == .placeholder)
            #expect(before.size == 300_000)
            #expect(before.bytesDownloaded == 0)
            #expect(before.modified == false && before.pinned == false && before.excluded == false)
            #expect(before.identifier != nil && before.version != nil && before.error == nil)
            try mount.run("cmp photos/sea.jpg \"$STORE/photos/sea.jpg\"")
            try waitUntil(5, "downloaded") { try mount.status("photos/sea.jpg").state == .downloaded }
            let after = try mount.status("photos/sea.jpg")
            #expect(after.bytesDownloaded == 300_000)
            #expect(after.identifier == before.identifier && after.version == before.version)
        }
    }

    @Test("the first read downloads that document and no other", arguments: [MountOptions(), .cached])
    func firstRead(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("cmp letter.txt \"$STORE/letter.txt\"")
            let downloads = mount.hookCalls().filter { $0.hook == .startProvidingItem }
            #expect(downloads.map(\.item) == ["letter.txt"])
            #expect(downloads.first?.range == 0..<13)
            #expect(try mount.status("photos/sea.jpg").state == .placeholder)
            // A second read asks nobody.
            try mount.run("cmp letter.txt \"$STORE/letter.txt\"")
            #expect(mount.hookCalls().filter { $0.hook == .startProvidingItem }.count == 1)
        }
    }

    @Test("an empty document needs no download, a link and a folder neither")
    func nothingToDownload() async throws {
        try await withMount(seed: Self.seed) { mount in
            if !StoreKind.usual.hasLinks { try mount.run("ln -s photos/sea.jpg link") }
            let shown = try mount.run("cat empty; readlink link; ls 'nothing here'")
            #expect(shown == "photos/sea.jpg\n")
            #expect(mount.hookCalls().filter { $0.hook == .startProvidingItem }.isEmpty)
            #expect(try mount.status("link").kind == .link)
        }
    }
}
