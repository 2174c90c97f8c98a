import Glibc
import Synchronization
import Testing

@testable import FUSE

@Suite("Sessions", .serialized)
struct SessionTests {
    @Test func exitEndsAnIdleSession() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            #expect(await Child.run("ls $M", ["M": mounted.path]).status == 0)
            mounted.session.exit()
            #expect(await mounted.runEnds(within: 2))
            #expect(mounted.runResult == 0)
            #expect(!Mounted.isMounted(mounted.path))
        }
    }

    @Test func exitEndsASessionWithAFileOpen() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("file", "x")
        try await Mounted.with(fileSystem) { mounted in
            let go = mounted.path + ".go"
            defer { unlink(go) }
            let child = Child(
                "exec 3< $M/file; until [ -e $GO ]; do sleep 0.05; done; cat <&3",
                variables: ["M": mounted.path, "GO": go])
            #expect(await eventually(within: 5) { fileSystem.calls("open") == 1 })
            mounted.session.exit()
            #expect(await mounted.runEnds(within: 3))
            #expect(mounted.runResult == 0)
            close(open(go, O_CREAT | O_WRONLY, 0o600))
            let result = await child.end()
            #expect(result.status == 1 && result.output.contains("cat: "), "\(result.output)")
        }
    }

    @Test(arguments: [true, false])
    func exitEndsASessionWithAHungRead(directIO: Bool) async throws {
        let fileSystem = RequestTests.Hanging(directIO: directIO)
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.calls("read") > 0 })
            mounted.session.exit()
            #expect(await mounted.runEnds(within: 3))
            #expect(mounted.runResult == 0)
            #expect(await child.end(limit: 3).timedOut == false)
        }
    }

    @Test func anUnmountFromOutsideEndsTheSession() async throws {
        try await Mounted.with(MemoryFileSystem()) { mounted in
            #expect(await Child.run("ls $M; umount $M", ["M": mounted.path]).status == 0)
            #expect(await mounted.runEnds(within: 2))
            #expect(mounted.runResult == 0)
        }
    }

    @Test func manySessionsComeAndGo() async throws {
        for _ in 0..<10 {
            try await Mounted.with(MemoryFileSystem()) { mounted in
                let children = (0..<5).map { _ in Child("ls $M; touch $M/a$$", variables: ["M": mounted.path]) }
                for child in children { #expect(await child.end().status == 0) }
            }
        }
    }

    /// However it ended, libfuse's session, the device and the file system are freed.
    @Test func nothingIsLeftBehind() async throws {
        weak var connection: FUSEConnection?
        weak var fileSystem: RequestTests.Hanging?
        do {
            let hanging = RequestTests.Hanging(directIO: true)
            fileSystem = hanging
            try await Mounted.with(hanging) { mounted in
                connection = mounted.session.connection
                let child = Child("cat $M/file", variables: ["M": mounted.path])
                #expect(await eventually(within: 5) { hanging.calls("read") == 1 })
                mounted.session.invalidateInode(1, offset: -1, length: 0)
                mounted.session.exit()
                #expect(await child.end(limit: 3).timedOut == false)
            }
            #expect(connection != nil, "a request is still unanswered")
            hanging.pending.withLock { $0 = [] }
        }
        // Threads of ours that have nothing to do end after a second.
        #expect(await eventually(within: 4) { connection == nil && fileSystem == nil })
    }

    /// exit() before run(), which some other thread calls when it gets round to it.
    @Test func exitMayComeBeforeRun() throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template))
        defer { rmdir(path) }
        let session = try FUSESession(mountPoint: path, options: .init(), fileSystem: MemoryFileSystem())
        try session.mount()
        #expect(Mounted.isMounted(path))
        session.exit()
        #expect(session.run() == 0)
        #expect(!Mounted.isMounted(path))
        #expect(session.run() == ENOTCONN)
    }

    @Test func oneThatIsDroppedUnmounts() throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template))
        defer { rmdir(path) }
        do {
            let session = try FUSESession(mountPoint: path, options: .init(), fileSystem: MemoryFileSystem())
            try session.mount()
            #expect(Mounted.isMounted(path))
        }
        #expect(!Mounted.isMounted(path))
    }

    @Test func wrongOptionsAreExplained() {
        let error = #expect(throws: FUSEError.self) {
            try FUSESession(
                mountPoint: "/mnt/x", options: .init(mountOptions: ["allow_other", "no_such_option=1"]),
                fileSystem: MemoryFileSystem())
        }
        #expect(error?.description.hasPrefix("/mnt/x: ") == true)
        #expect(error?.description.contains("unknown option(s): `-o no_such_option=1'") == true, "\(error!)")
    }

    @Test func aMissingFolderIsExplained() throws {
        let session = try FUSESession(mountPoint: "/tmp/not/there", options: .init(), fileSystem: MemoryFileSystem())
        let error = #expect(throws: FUSEError.self) { try session.mount() }
        #expect(error?.errno == ENOENT)
        #expect(error?.description == "/tmp/not/there: there is no such folder; create it first")
    }

    @Test func aFileIsNoMountPoint() throws {
        let session = try FUSESession(mountPoint: "/etc/passwd", options: .init(), fileSystem: MemoryFileSystem())
        let error = #expect(throws: FUSEError.self) { try session.mount() }
        #expect(error?.errno == ENOTDIR)
        #expect(!Mounted.isMounted("/etc/passwd"))
    }

    // MARK: Where it is mounted

    /// What somebody who may write to a folder above does between the look at the folder and the mount.
    enum Trick: CaseIterable { case link, folder, mount }

    @Test(
        "a place that gets the path during the mount is not mounted on, nor is the folder that was moved away",
        .enabled(if: geteuid() == 0, "mounts"), arguments: Trick.allCases)
    func replacedMeanwhile(trick: Trick) throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        let base = String(cString: mkdtemp(&template))
        let folders = ["m", "m/p", "gone", "gone/p", "other", "other/p"].map { base + "/" + $0 }
        for folder in folders where !folder.contains("/gone") { mkdir(folder, 0o755) }
        defer {
            unlink(base + "/m")
            for folder in folders.reversed() {
                while umount2(folder, 2) == 0 {}
                rmdir(folder)
            }
            rmdir(base)
        }
        let session = try FUSESession(mountPoint: base + "/m/p", options: .init(), fileSystem: MemoryFileSystem())
        let error = #expect(throws: FUSEError.self) {
            try session.mount {
                switch trick {
                case .link:
                    rename(base + "/m", base + "/gone")
                    symlink("other", base + "/m")
                case .folder:
                    rename(base + "/m", base + "/gone")
                    for folder in folders.prefix(2) { mkdir(folder, 0o755) }
                case .mount: #expect(Glibc.mount("none", base + "/m/p", "tmpfs", 0, nil) == 0)
                }
            }
        }
        #expect(error?.errno == ESTALE)
        #expect(error?.description.contains("was moved or replaced") == true, "\(error!)")
        for folder in folders { #expect(!Self.hasFUSE(folder), "\(folder)") }
    }

    private static func hasFUSE(_ path: String) -> Bool { MountTable().fuseDevice(at: path) != nil }

    @Test("a path that was free of links and then gets one is not followed")
    func resolved() throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        let base = String(cString: mkdtemp(&template))
        mkdir(base + "/p", 0o755)
        symlink(".", base + "/m")
        defer {
            unlink(base + "/m")
            rmdir(base + "/p")
            rmdir(base)
        }
        for isResolved in [true, false] {
            var options = FUSESession.Options()
            options.mountPointIsResolved = isResolved
            let session = try FUSESession(
                mountPoint: base + "/m/p", options: options, fileSystem: MemoryFileSystem())
            if isResolved {
                #expect(throws: FUSEError.self) { try session.mount() }
            } else {
                try session.mount()
            }
            withExtendedLifetime(session) { #expect(Mounted.isMounted(base + "/p") != isResolved) }
        }
        #expect(!Mounted.isMounted(base + "/p"))
    }

    @Test("root unmounts without libfuse's helper, which works by path", .enabled(if: geteuid() == 0))
    func autoUnmount() throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template))
        defer { rmdir(path) }
        let session = try FUSESession(
            mountPoint: path, options: .init(mountOptions: ["auto_unmount"]), fileSystem: MemoryFileSystem())
        let error = #expect(throws: FUSEError.self) { try session.mount() }
        #expect(error?.description.contains("auto_unmount") == true)
        #expect(!Mounted.isMounted(path))
    }

    @Test func optionsReachTheKernel() async throws {
        let options = FUSESession.Options(mountOptions: [
            "default_permissions", "fsname=a,b\\c", "subtype=hydrant", "ro",
        ])
        try await Mounted.with(MemoryFileSystem(), options: options) { mounted in
            let result = await Child.run("grep \" $M \" /proc/mounts; touch $M/x", ["M": mounted.path])
            #expect(result.output.hasPrefix("a,b\\134c \(mounted.path) fuse.hydrant ro,"), "\(result.output)")
            #expect(result.output.contains("default_permissions"))
            #expect(result.output.contains("Read-only file system"))
        }
    }
}
