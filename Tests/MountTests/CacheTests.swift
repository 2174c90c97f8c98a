import ControlAPI
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

@Suite("--cache-limit, --min-free, hydrant pin and unpin")
struct CacheTests {
    private static let size = 1_000_000
    private static let names = (1...20).map { $0 < 10 ? "doc0\($0).bin" : "doc\($0).bin" }

    private static func seed(_ store: String) throws {
        for (index, name) in names.enumerated() {
            try Seeding(store).file(name, noise(size, seed: UInt64(index + 1)))
        }
    }

    private static func limited(_ arguments: [String], passthrough: Bool = true) -> MountOptions {
        .with {
            $0.arguments = arguments
            $0.passthrough = passthrough
            $0.limit = 60
        }
    }

    /// What the state directory takes of its disk for documents, in bytes. What is evicted meanwhile, du may have
    /// seen and not find any more: it says so, and counts the rest.
    private static func used(_ mount: MountedStore) throws -> Int {
        let text = try mount.run("{ du -sk \"\(mount.sandbox.state)/content/storage\" || true; } | cut -f1")
        return (Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .max) * 1_024
    }

    private static func downloaded(_ mount: MountedStore) throws -> [String] {
        zip(names, try mount.statuses(names)).filter { $1.bytesDownloaded > 0 }.map(\.0)
    }

    @Test(
        "twenty documents through a cache of five: all are readable, and the last ones stay downloaded",
        arguments: [true, false])
    func limit(passthrough: Bool) async throws {
        try await withMount(Self.limited(["--cache-limit", "5M"], passthrough: passthrough), seed: Self.seed) { mount in
            for (index, name) in Self.names.enumerated() {
                let bytes = try RealFileSystem(root: mount.mountPoint).readAll(FSPath(name))
                #expect(bytes == noise(Self.size, seed: UInt64(index + 1)))
            }
            try waitUntil(10, "at most the limit is here") { try Self.used(mount) <= 5 << 20 }
            try waitUntil(10, "the least recently used are gone") {
                let here = try Self.downloaded(mount)
                return here.count >= 3 && here.count <= 5 && here == Array(Self.names.suffix(here.count))
            }
            let status = try mount.hydrant(["status"])
            #expect(status.stdout.contains("of at most 5.0 MiB"))
            // The order outlives the daemon.
            let kept = try Self.downloaded(mount)
            try mount.run("cat \(kept[0]) >/dev/null")
            try mount.remount()
            try mount.run("cat doc01.bin doc02.bin >/dev/null")
            try waitUntil(10, "the limit is kept again") { try Self.used(mount) <= 5 << 20 }
            #expect(try Self.downloaded(mount).contains(kept[0]))
            #expect(try !Self.downloaded(mount).contains(kept[1]))
            try mount.requireSameAsStore()
        }
    }

    @Test("open documents and pending changes are not evicted; a document above the limit is readable")
    func used() async throws {
        let options = MountOptions.with {
            $0.arguments = ["--cache-limit", "2M"]
            $0.settle = 3_600
            $0.limit = 60
        }
        try await withMount(options, seed: Self.seed) { mount in
            try Seeding(mount.store).file("large.bin", noise(6_000_000, seed: 99))
            try mount.run("head -c 1500000 /dev/urandom > mine.bin; echo more >> doc01.bin")
            let reader = try mount.start("exec 3<doc02.bin; cat <&3 >/dev/null; echo open; sleep 600")
            try waitUntil(10, "it is open") { reader.stdout.contains("open") }
            try waitUntil(5, "it is listed") { try mount.shell("test $(stat -c %s large.bin) = 6000000").succeeded }
            try mount.run("cmp large.bin \"$STORE/large.bin\"; cat doc03.bin doc04.bin doc05.bin >/dev/null")
            try waitUntil(10, "what can go is gone") {
                try mount.statuses(["large.bin", "doc03.bin", "doc04.bin", "doc05.bin"])
                    .allSatisfy { $0.bytesDownloaded == 0 }
            }
            let staying = try mount.statuses(["mine.bin", "doc01.bin", "doc02.bin"])
            #expect(staying.allSatisfy { $0.bytesDownloaded > 0 })
            // By hand, it says what stays, and why.
            let result = try mount.hydrant(["evict", mount.mountPoint])
            #expect(result.succeeded)
            #expect(result.stdout.contains("3 documents stay: 2 modified"))
            #expect(result.stdout.contains("1 open in a program"))
            #expect(result.stdout.split(separator: "\n").count == 1)
            reader.signal(SIGKILL)
            _ = reader.wait(limit: 5)
            try mount.sync()
            try waitUntil(10, "the rest may go now") {
                try mount.statuses(["mine.bin", "doc01.bin", "doc02.bin"]).contains { $0.bytesDownloaded == 0 }
            }
            try mount.requireSameAsStore()
        }
    }

    @Test("a pinned document is downloaded whole, is kept, and is updated; after unpin it can be evicted")
    func pin() async throws {
        try await withMount(Self.limited(["--cache-limit", "2M"]), seed: Self.seed) { mount in
            let path = mount.mountPoint + "/doc01.bin"
            let pinned = try mount.hydrant(["pin", "--wait", path])
            #expect(pinned.succeeded && pinned.stdout == "\(path): pinned, all of it is here\n")
            #expect(try mount.status("doc01.bin").state == .downloaded)
            try mount.run("cat doc0[2-9].bin >/dev/null")
            try waitUntil(10, "the limit is kept") { try Self.used(mount) <= 2 << 20 }
            let status = try mount.status("doc01.bin")
            #expect(status.state == .downloaded && status.pinned)
            let refused = try mount.hydrant(["evict", path])
            #expect(refused.status == 1 && refused.stderr.contains("is pinned; unpin it first"))
            // Another version in the store, and nobody reads it.
            try Seeding(mount.store).file("doc01.bin", noise(700_000, seed: 77))
            try waitUntil(10, "the new version is here") {
                let status = try mount.status("doc01.bin")
                return status.size == 700_000 && status.state == .downloaded
            }
            // While nobody was mounted.
            try mount.unmount()
            try Seeding(mount.store).file("doc01.bin", noise(800_000, seed: 78))
            try mount.mount()
            try waitUntil(10, "it is fetched after the next mount") {
                let status = try mount.status("doc01.bin")
                return status.size == 800_000 && status.state == .downloaded && status.pinned
            }
            #expect(try mount.hydrant(["unpin", path]).stdout == "\(path): unpinned\n")
            #expect(try mount.hydrant(["unpin", path]).stdout == "\(path): not pinned\n")
            try mount.run("cat doc0[2-9].bin >/dev/null")
            try waitUntil(10, "it goes like any other") { try mount.status("doc01.bin").bytesDownloaded == 0 }
        }
    }

    @Test("everything in a pinned folder is downloaded, also items that the store gets later and nobody has read")
    func pinnedFolder() async throws {
        try await withMount(
            Self.limited(["--cache-limit", "1M"]),
            seed: { store in
                try Seeding(store).file("folder/one.txt", "one\n")
                try Seeding(store).file("folder/deep/two.txt", "two\n")
                try Seeding(store).file("three.txt", "three\n")
                try Seeding(store).link("folder/link", to: "one.txt")
            }
        ) { mount in
            let folder = mount.mountPoint + "/folder"
            let result = try mount.hydrant(["pin", folder])
            #expect(result.succeeded && result.stdout.hasPrefix("\(folder): pinned, "))
            let paths = ["folder/one.txt", "folder/deep/two.txt"]
            try waitUntil(10, "it is here") {
                try mount.statuses(paths).allSatisfy { $0.state == .downloaded && $0.pinned }
            }
            try Seeding(mount.store).file("folder/deep/later/four.txt", "four\n")
            try Seeding(mount.store).file("folder/five.txt", "five\n")
            try waitUntil(10, "what is new is here") {
                let result = try mount.hydrant([
                    "status", "--json", folder + "/five.txt", folder + "/deep/later/four.txt",
                ])
                return result.stdout.components(separatedBy: "\"downloaded\"").count == 3
            }
            #expect(try mount.status("three.txt").state == .placeholder)
            // The store is away: it is all readable.
            try mount.run("mv \"$STORE\" \"$STORE.away\"; cat folder/deep/later/four.txt folder/five.txt")
            try mount.run("mv \"$STORE.away\" \"$STORE\"")
            let inside = try mount.hydrant(["unpin", folder + "/one.txt"])
            #expect(inside.status == 1 && inside.stderr.contains("is pinned with \(folder); unpin that"))
            let link = try mount.hydrant(["pin", folder + "/link"])
            #expect(link.succeeded && link.stdout.contains("cannot be pinned"))
            let stays = try mount.hydrant(["evict", folder])
            #expect(stays.succeeded && stays.stdout.contains("4 documents stay: 4 pinned"))
            #expect(try mount.hydrant(["unpin", folder]).succeeded)
            #expect(try mount.statuses(paths).allSatisfy { !$0.pinned })
            #expect(try mount.hydrant(["evict", folder]).succeeded)
            #expect(try mount.statuses(paths).allSatisfy { $0.state == .placeholder })
        }
    }

    @Test("three times the size of a small disk is readable", arguments: [true, false])
    func fullDisk(passthrough: Bool) async throws {
        let options = MountOptions.with {
            $0.passthrough = passthrough
            $0.limit = 100
        }
        try await withSandbox(options) { mount in
            let image = mount.scratch + "/disk"
            let made = try mount.sandbox.run(
                ["sh", "-c", SmallDisk.making(24, image, at: mount.sandbox.state)], limit: 20)
            try #require(made.succeeded, "\(made)")
            for index in 0..<24 {
                try Seeding(mount.store).file("d\(index)", noise(3_000_000, seed: UInt64(index + 1)))
            }
            try mount.mount()
            let result = try mount.shell("for i in $(seq 0 23); do cmp d$i \"$STORE/d$i\"; done", limit: 80)
            #expect(result.succeeded, "\(result) \(mount.logTail)")
            // Several at once, in another order.
            let again = try mount.shell(
                "seq 23 -1 0 | xargs -P 3 -I{} cmp d{} \"$STORE/d{}\"", limit: 80)
            #expect(again.succeeded, "\(again) \(mount.logTail)")
            // Not even for a read that the kernel tried again.
            #expect(try mount.logLines(with: "download failed") == 0)
            // Others have filled it to the last byte.
            try mount.run("cat /dev/zero > \"\(mount.sandbox.state)/filler\" 2>/dev/null || true")
            try mount.run("cmp d7 \"$STORE/d7\"; cmp d8 \"$STORE/d8\"", limit: 30)
            try mount.run("rm \"\(mount.sandbox.state)/filler\"")
            // Larger than the disk: it says so, and the daemon lives.
            try Seeding(mount.store).file("huge", noise(30_000_000, seed: 50))
            try waitUntil(10, "it is listed") { try mount.shell("test $(stat -c %s huge) = 30000000").succeeded }
            let huge = try mount.shell("cat huge >/dev/null", limit: 60)
            #expect(!huge.succeeded && huge.stderr.contains("No space left"), "\(huge)")
            try mount.run("cmp d0 \"$STORE/d0\"", limit: 30)
            try mount.unmount()
        }
    }

    @Test(
        "on a small disk a document is sent without a second copy, and a clean one is evicted to make room for a copy")
    func uploadsOnAFullDisk() async throws {
        try await withSandbox(.with { $0.limit = 100 }) { mount in
            let image = mount.scratch + "/disk"
            let made = try mount.sandbox.run(
                ["sh", "-c", SmallDisk.making(64, image, at: mount.sandbox.state)], limit: 20)
            try #require(made.succeeded, "\(made)")
            try Seeding(mount.store).file("clean", noise(9_000_000, seed: 1))
            try mount.mount()
            try mount.run("cmp clean \"$STORE/clean\"")
            // Twice as large as what is left.
            try mount.run("head -c 27000000 /dev/urandom > large; cp large \"$SCRATCH/large\"")
            try mount.sync()
            try mount.run("cmp large \"$STORE/large\"; cmp large \"$SCRATCH/large\"")
            // Nothing had to go for a copy that has no room anyhow.
            #expect(try mount.status("clean").state == .downloaded)
            #expect(try mount.hydrant(["evict", mount.mountPoint + "/large"]).succeeded)
            // Now a copy has room when the clean one goes.
            try mount.run("cmp clean \"$STORE/clean\"; head -c 22000000 /dev/urandom > other")
            try mount.sync()
            try mount.run("cmp other \"$STORE/other\"")
            #expect(try mount.status("clean").bytesDownloaded == 0)
            #expect(try mount.logLines(with: "a change could not be sent") == 0)
            try mount.unmount()
        }
    }

    @Test("a document of zeros that is larger than the disk is readable, and uses no space")
    func zerosOnASmallDisk() async throws {
        try await withSandbox(.with { $0.limit = 100 }) { mount in
            let image = mount.scratch + "/disk"
            let made = try mount.sandbox.run(
                ["sh", "-c", SmallDisk.making(24, image, at: mount.sandbox.state)], limit: 20)
            try #require(made.succeeded, "\(made)")
            try mount.run("truncate -s 200M \"$STORE/sparse\"; echo end >> \"$STORE/sparse\"")
            try Seeding(mount.store).file("small", noise(1_000_000, seed: 1))
            try mount.mount()
            try mount.run("cmp small \"$STORE/small\"; cmp sparse \"$STORE/sparse\"", limit: 60)
            try waitUntil(10, "all of it is here") { try mount.status("sparse").state == .downloaded }
            #expect(
                try Int(mount.run("stat -c %b sparse").trimmingCharacters(in: .whitespacesAndNewlines)).map { $0 < 100 }
                    == true)
            #expect(try Self.used(mount) < 3 << 20)
            // And nothing had to go for it.
            #expect(try mount.status("small").state == .downloaded)
            try mount.unmount()
        }
    }

    @Test(
        "invalid sizes are refused",
        arguments: [
            ["--cache-limit", "10X"], ["--cache-limit", "-1"], ["--cache-limit", ""], ["--cache-limit", "9999999P"],
            ["--min-free", "101%"], ["--min-free", "much"],
        ])
    func badSizes(arguments: [String]) async throws {
        try await withSandbox { mount in
            let result = try mount.hydrant(mount.mountCommand(arguments))
            #expect(result.status == 64)
            #expect(result.stderr.contains(arguments[0]) && !mount.isMounted)
        }
    }

    @Test(
        "usual spellings of sizes are accepted",
        arguments: zip(
            ["10G", "500m", "1.5KiB", "1T", "2048", "none"],
            [
                "at most 10.0 GiB", "at most 500.0 MiB", "at most 1.5 KiB", "at most 1.0 TiB", "at most 2.0 KiB",
                "0 bytes here;",
            ]))
    func goodSizes(argument: String, shown: String) async throws {
        try await withMount(Self.limited(["--cache-limit", argument, "--min-free", "3M"])) { mount in
            let status = try mount.hydrant(["status"])
            #expect(status.stdout.contains(shown), "\(status)")
            #expect(status.stdout.contains("3.0 MiB to stay free"))
        }
    }
}
