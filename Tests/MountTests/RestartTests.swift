import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// A store that is gone (a drive that is not plugged in) takes nothing from the mount but the bytes that are not here.
@Suite("A restart without the store")
struct RestartTests {
    static let modes = [MountOptions(), .cached]
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for number in 0..<20 { try seeding.file("folder \(number % 3)/doc \(number)", "number \(number)\n") }
        if StoreKind.usual.hasLinks { try seeding.link("link", to: "folder 0/doc 0") }
    }

    /// All that POSIX shows of the mount.
    private static let list = """
        find . -mindepth 1 -printf '%P %y %i %n %m %U %G %s %T@ %l\\n' | sort; getfattr -d 'folder 0/doc 3'
        """

    private static func prepare(_ mount: MountedStore) throws -> String {
        try mount.run(
            "cat 'folder 0/doc 0'; ln 'folder 0/doc 0' linked; mkfifo pipe; chown 5:6 'folder 1'; setfattr -n user.title -v three 'folder 0/doc 3'"
        )
        try mount.sync()
        let before = try mount.run(list)
        #expect(before.split(separator: "\n").count == (StoreKind.usual.hasLinks ? 28 : 27))
        return before
    }

    @Test("the store disappears while mounted: everything stays unchanged, changes wait", arguments: modes)
    func storeGoes(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let before = try Self.prepare(mount)
            try mount.run("cd /; mv \"$STORE\" \"$SCRATCH/away\"")
            for _ in 0..<3 {
                usleep(500_000)
                #expect(try mount.run(Self.list) == before)
            }
            #expect(
                try mount.run("cat linked; echo more >> linked; cat 'folder 0/doc 0'") == "number 0\nnumber 0\nmore\n")
            #expect(try mount.shell("cat 'folder 1/doc 1'").status == 1)
            // The upload is tried, and the answer of a server without the folder is that the document is gone.
            let early = try mount.hydrant(["sync", mount.mountPoint, "--timeout", "2"])
            #expect(!early.succeeded, "\(early)")
            try mount.run("cd /; mv \"$SCRATCH/away\" \"$STORE\"")
            try mount.sync()
            #expect(try mount.run(Self.list).contains("conflicted") == false)
            #expect(try Seeding(mount.store).text("folder 0/doc 0") == "number 0\nmore\n")
            #expect(try mount.run("cat 'folder 1/doc 1'") == "number 1\n")
        }
    }

    /// A server may be away for a while: it is mounted all the same, with what is here.
    @Test("mounted while the server has no such folder: nothing is forgotten", .enabled(if: StoreKind.usual == .webdav))
    func folderGone() async throws {
        try await withMount(seed: Self.seed) { mount in
            let before = try Self.prepare(mount)
            let identifiers = try mount.statuses(["folder 0/doc 0", "folder 1/doc 1"])
            try mount.unmount()
            try mount.run("cd /; mv \"$STORE\" \"$SCRATCH/away\"")
            try mount.mount()
            #expect(try mount.run(Self.list) == before)
            #expect(try mount.run("cat linked") == "number 0\n")
            #expect(try mount.shell("cat 'folder 1/doc 1'").status == 1)
            let status = try mount.hydrant(["status"])
            #expect(status.stdout.contains("offline"), "\(status)")
            try mount.run("cd /; mv \"$SCRATCH/away\" \"$STORE\"")
            try waitUntil(20, "what is not here is read again") { try mount.shell("cat 'folder 1/doc 1'").status == 0 }
            #expect(try mount.run(Self.list) == before)
            #expect(try mount.statuses(["folder 0/doc 0"]) == [identifiers[0]])
        }
    }

    @Test(
        "mounted without the store: refused, and nothing is forgotten",
        .notOverWebDAV("a server that is away is mounted all the same: folderGone()"), arguments: modes)
    func storeGone(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let before = try Self.prepare(mount)
            let identifiers = try mount.statuses(["folder 0/doc 0", "folder 1/doc 1"])
            try mount.unmount()
            try mount.run("cd /; mv \"$STORE\" \"$SCRATCH/away\"")
            let result = try mount.hydrant(mount.mountCommand())
            #expect(!result.succeeded && result.stderr.contains("No such file or directory"))
            try mount.run("cd /; mv \"$SCRATCH/away\" \"$STORE\"")
            try mount.mount()
            #expect(try mount.run(Self.list) == before)
            #expect(try mount.statuses(["folder 0/doc 0", "folder 1/doc 1"]) == identifiers)
        }
    }

    /// A drive that is not plugged in leaves its empty mount point.
    @Test(
        "an empty directory in the store's place is not taken for the store",
        .notOverWebDAV("a server does not say which folder it is: an empty one is one whose documents were deleted"))
    func storeEmpty() async throws {
        try await withMount(seed: Self.seed) { mount in
            let before = try Self.prepare(mount)
            try mount.unmount()
            try mount.run("cd /; mv \"$STORE\" \"$SCRATCH/away\"; mkdir \"$STORE\"")
            #expect(try !mount.hydrant(mount.mountCommand()).succeeded)
            try mount.run("cd /; rmdir \"$STORE\"; mv \"$SCRATCH/away\" \"$STORE\"")
            try mount.mount()
            #expect(try mount.run(Self.list) == before)
        }
    }

    @Test("a listing after a restart answers before it asks the provider", arguments: modes)
    func fromCatalog(_ options: MountOptions) async throws {
        try await withHangingStore(options, seed: Self.seed, prepare: "find . >/dev/null; cat 'folder 2/doc 2'") {
            mount, lower in
            let list = "find . -mindepth 1 -printf '%P %y %i %n %s %T@\\n' | sort"
            let before = try mount.run(list)
            kill(lower, SIGCONT)
            try mount.unmount()
            let again = try mount.hydrant([
                "mount", "dir:\(mount.scratch)/below", mount.mountPoint, "--state-dir", mount.sandbox.state,
            ])
            #expect(again.succeeded)
            kill(lower, SIGSTOP)
            #expect(try mount.run(list, limit: 5) == before)
            #expect(try mount.run("cat 'folder 2/doc 2'", limit: 5) == "number 2\n")
        }
    }
}
