import Foundation

extension MountedStore {
    /// Runs a Python program in the mount, for system calls without a shell command; throws unless it succeeds. Returns
    /// its output. Besides the standard library it has:
    ///
    /// - `STORE`, `MOUNT`, `SCRATCH`: the directories;
    /// - `fails(call, *arguments)`: the name of the errno of a failing call, or `ok`;
    /// - `as_user(call)`: runs it in a child without privileges (user and group 65534), and waits for its end;
    /// - `read(path)`, `write(path, data, flags, offset)`, `append(path, data)`: whole files, as bytes;
    /// - `rename2(from, to, flags)` and `fallocate(descriptor, mode, offset, length)`: the system calls.
    @discardableResult
    package func python(_ program: String, limit: Double = 20) throws -> String {
        let result = try startPython(program).wait(limit: limit)
        guard result.succeeded else { throw HarnessError("“\(program)”: \(result)") }
        return result.stdout
    }

    /// As ``python(_:limit:)``, without waiting.
    package func startPython(_ program: String) throws -> ChildProcess {
        try start("exec python3 -u - <<'END OF PROGRAM'\n" + Self.prelude + program + "\nEND OF PROGRAM\n")
    }

    private static let prelude = #"""
        import ctypes, errno, fcntl, hashlib, mmap, os, signal, socket, stat, subprocess, sys, threading, time
        STORE, MOUNT, SCRATCH = os.environ["STORE"], os.environ["MOUNT"], os.environ["SCRATCH"]
        libc = ctypes.CDLL(None, use_errno=True)
        def fails(call, *arguments, **named):
            try: call(*arguments, **named)
            except OSError as error: return errno.errorcode[error.errno]
            return "ok"
        def as_user(call):
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    os.setgroups([]); os.setgid(65534); os.setuid(65534)
                    call()
                    status = 0
                finally:
                    sys.stdout.flush()
                    os._exit(status)
            if os.waitpid(child, 0)[1] != 0: raise Exception("the child failed")
        def write(path, data, flags=os.O_CREAT | os.O_TRUNC, offset=0):
            file = os.open(path, os.O_WRONLY | flags, 0o644)
            try: os.pwrite(file, data, offset)
            finally: os.close(file)
        def append(path, data):
            with open(path, "ab", buffering=0) as file: file.write(data)
        def read(path):
            with open(path, "rb") as file: return file.read()
        def checked(result):
            if result != 0: raise OSError(ctypes.get_errno(), "call")
        def rename2(source, target, flags):
            checked(libc.renameat2(-100, source.encode(), -100, target.encode(), flags))
        def fallocate(file, mode, offset, length):
            checked(libc.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(length)))

        """#
}
