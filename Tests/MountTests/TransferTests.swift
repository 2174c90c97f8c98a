import ControlAPI
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import Testing

@Suite("hydrant evict, download, status, sync")
struct TransferTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("doc.bin", noise(1_000_000))
        try seeding.file("folder/one.txt", "one\n")
        try seeding.file("folder/deep/two.txt", "two\n")
    }
    static let both: [MountOptions] = [MountOptions(), .cached]

    @Test("evict makes a placeholder again, with the same inode number; reading downloads it again", arguments: both)
    func evict(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let files = RealFileSystem(root: mount.mountPoint)
            #expect(try files.readAll("doc.bin") == noise(1_000_000))
            try waitUntil(5, "downloaded") { try mount.status("doc.bin").state == .downloaded }
            let before = try files.stat("doc.bin")
            let used = try mount.run("du -sk \"\(mount.sandbox.state)/content\" | cut -f1")
            try waitUntil(5, "the reader has let go") {
                try mount.hydrant(["evict", mount.mountPoint + "/doc.bin"]).succeeded
            }
            let status = try mount.status("doc.bin")
            #expect(status.state == .placeholder && status.bytesDownloaded == 0 && status.size == 1_000_000)
            let after = try files.stat("doc.bin")
            #expect(after.inode == before.inode && after.size == before.size && after.modified == before.modified)
            #expect(after.blocks < 10 && before.blocks > 1_900)
            let usedNow = try mount.run("du -sk \"\(mount.sandbox.state)/content\" | cut -f1")
            #expect(try #require(Int(used.dropLast())) - #require(Int(usedNow.dropLast())) > 900)
            #expect(try files.readAll("doc.bin") == noise(1_000_000))
            #expect(mount.hookCalls().filter { $0.hook == .startProvidingItem && $0.item == "doc.bin" }.count == 2)
        }
    }

    @Test("evict is refused while changes are not in the store", arguments: both)
    func evictModified(_ options: MountOptions) async throws {
        try await withMount(
            .with {
                $0 = options; $0.settle = 3_600
            }, seed: Self.seed
        ) { mount in
            try mount.run("echo more >> doc.bin; echo new > new.txt")
            for name in ["doc.bin", "new.txt"] {
                let result = try mount.hydrant(["evict", mount.mountPoint + "/" + name])
                #expect(result.status == 1)
                #expect(result.stderr.contains(name) && result.stderr.contains("not in the store"))
            }
            let end = try mount.run("tail -c 5 doc.bin; cat new.txt")
            #expect(end == "more\nnew\n")
        }
    }

    @Test(
        "evict is refused while a program has the document open, or mapped after closing it", arguments: both,
        ["open", "mapped"])
    func evictUsed(_ options: MountOptions, how: String) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            try mount.run("cat doc.bin >/dev/null")
            try waitUntil(5, "downloaded") { try mount.status("doc.bin").state == .downloaded }
            let user = try mount.start(
                """
                exec python3 -uc '
                import mmap, sys, time
                file = open("doc.bin", "rb")
                if "\(how)" == "mapped":
                    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                    file.close()
                    memory[0]
                print("ready")
                time.sleep(600)
                '
                """)
            try waitUntil(10, "it is used") { user.stdout.contains("ready") }
            let result = try mount.hydrant(["evict", mount.mountPoint + "/doc.bin"])
            #expect(result.status == 1)
            #expect(result.stderr.contains("doc.bin"))
            #expect(try mount.status("doc.bin").state == .downloaded)
            user.signal(SIGKILL)
            _ = user.wait(limit: 5)
            try waitUntil(5, "it can be evicted now") {
                try mount.hydrant(["evict", mount.mountPoint + "/doc.bin"]).succeeded
            }
        }
    }

    @Test("download gets a document, or everything in a folder; evict of a folder removes the bytes again")
    func download() async throws {
        try await withMount(seed: Self.seed) { mount in
            let result = try mount.hydrant(["download", mount.mountPoint + "/doc.bin", mount.mountPoint + "/folder"])
            #expect(result.succeeded)
            let paths = ["doc.bin", "folder/one.txt", "folder/deep/two.txt"]
            #expect(try mount.statuses(paths).map(\.state) == [.downloaded, .downloaded, .downloaded])
            let calls = mount.hookCalls().filter { $0.hook == .startProvidingItem }.count
            try mount.requireSameAsStore()
            #expect(mount.hookCalls().filter { $0.hook == .startProvidingItem }.count == calls)
            try waitUntil(5, "the folder can be evicted") {
                _ = try mount.hydrant(["evict", mount.mountPoint + "/folder"])
                return try mount.statuses(Array(paths.dropFirst())).allSatisfy { $0.state == .placeholder }
            }
            #expect(try mount.status("doc.bin").state == .downloaded)
        }
    }

    @Test("a failure for one path does not stop the others; exit status 1, and the path is named")
    func partialFailure() async throws {
        try await withMount(seed: Self.seed) { mount in
            let result = try mount.hydrant(["download", mount.mountPoint + "/none", mount.mountPoint + "/doc.bin"])
            #expect(result.status == 1)
            #expect(result.stderr.contains("/none"))
            #expect(try mount.status("doc.bin").state == .downloaded)
            let missing = try mount.hydrant(["status", mount.mountPoint + "/none"])
            #expect(missing.status == 1 && missing.stderr.contains("/none"))
            let outside = try mount.hydrant(["status", mount.scratch])
            #expect(outside.status == 1 && outside.stderr.contains(mount.scratch))
            #expect(try mount.hydrant(["status", "--no-such-flag"]).status == 64)
        }
    }

    @Test("sync --timeout: status 75 and the pending changes, while the store cannot be written")
    func syncTimeout() async throws {
        try await withSandbox { mount in
            // Root writes everywhere but to a read-only file system.
            let made = try mount.sandbox.run(
                ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", mount.store], limit: 5)
            try #require(made.succeeded)
            try Self.seed(mount.store)
            try mount.mount()
            try mount.run("ls -R >/dev/null")
            try #require(try mount.sandbox.run(["mount", "-o", "remount,ro", mount.store], limit: 5).succeeded)
            try mount.run("echo new > new.txt; mv folder/one.txt moved.txt")
            var result: ChildResult?
            let seconds = try elapsed { result = try mount.hydrant(["sync", mount.mountPoint, "--timeout", "1"]) }
            #expect(result?.status == 75)
            #expect(result?.stdout.contains("new.txt") == true && result?.stdout.contains("moved.txt") == true)
            #expect(result?.stderr.contains("still pending") == true)
            #expect(seconds >= 1)
            // It says why; the change is not lost, and sent as soon as the store can be written.
            try waitUntil(5, "the reason is known") { try mount.status("new.txt").error != nil }
            #expect(try mount.run("cat new.txt") == "new\n")
            try #require(try mount.sandbox.run(["mount", "-o", "remount,rw", mount.store], limit: 5).succeeded)
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try mount.status("new.txt").error == nil)
            try mount.unmount()
        }
    }

    @Test("sync with nothing pending returns at once; status names pending changes, or says that everything is sent")
    func syncNothing() async throws {
        try await withMount(.lateUploads, seed: Self.seed) { mount in
            let clean = try mount.hydrant(["sync", mount.mountPoint])
            #expect(clean.succeeded && clean.stdout.isEmpty && clean.stderr.isEmpty)
            try mount.run("echo more >> folder/one.txt")
            #expect(try mount.status("folder/one.txt").modified)
            let items = try mount.hydrant([
                "status", "--json", mount.mountPoint + "/folder/one.txt", mount.mountPoint + "/doc.bin",
            ])
            #expect(items.stdout.contains("\"modified\" : true"))
            try mount.sync()
            #expect(try !mount.status("folder/one.txt").modified)
        }
    }
}
