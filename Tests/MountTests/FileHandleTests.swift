import Foundation
import Glibc
import MountHarness
import Testing

/// File handles, as an NFS server uses them, name a file over whatever the kernel forgets.
@Suite("File handles", .enabled(if: geteuid() == 0)) struct FileHandleTests {
    /// name_to_handle_at(2) or open_by_handle_at(2), which need CAP_DAC_READ_SEARCH.
    private static let script = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        def check(result):
            if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return result
        if sys.argv[1] == "make":
            handle = ctypes.create_string_buffer(8 + 128)
            handle[0:4] = (128).to_bytes(4, "little")
            mount = ctypes.c_int()
            check(libc.name_to_handle_at(-100, sys.argv[2].encode(), handle, ctypes.byref(mount), 0))
            print(handle.raw.hex())
        else:
            handle = ctypes.create_string_buffer(bytes.fromhex(sys.argv[3]))
            root = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECTORY)
            try: file = check(libc.open_by_handle_at(root, handle, os.O_RDONLY))
            except OSError as error: print(error.strerror); sys.exit(0)
            if os.path.isdir(f"/proc/self/fd/{file}"): print(sorted(os.listdir(file)))
            else: print(os.read(file, 100).decode())
        """

    private static func handle(_ mount: MountedStore, _ arguments: String...) throws -> String {
        let result = try mount.sandbox.run(["python3", "-c", script] + arguments, limit: 60)
        #expect(result.succeeded, "\(result)")
        return result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(
        "file handles stay valid after the kernel has forgotten the file, and over a remount; those of deleted files do not"
    )
    func remembered() async throws {
        try await withMount { mount in
            try mount.run("mkdir -p a/b; echo text > a/b/doc; echo other > a/gone")
            let document = try Self.handle(mount, "make", mount.mountPoint + "/a/b/doc")
            let folder = try Self.handle(mount, "make", mount.mountPoint + "/a/b")
            let gone = try Self.handle(mount, "make", mount.mountPoint + "/a/gone")
            func check() throws {
                #expect(try Self.handle(mount, "open", mount.mountPoint, document) == "text")
                #expect(try Self.handle(mount, "open", mount.mountPoint, folder) == "['doc']")
            }
            try check()
            try mount.run("rm a/gone; echo 2 > /proc/sys/vm/drop_caches")
            try check()
            #expect(try Self.handle(mount, "open", mount.mountPoint, gone) == "Stale file handle")
            try mount.remount()
            try check()
        }
    }
}
