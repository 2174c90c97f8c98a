internal import CFUSE
internal import Glibc
internal import Locking
internal import Synchronization

/// One mount: `init` checks the options, `mount` mounts, `run` serves until the unmount. It keeps its file system until
/// `run` has returned.
public final class FUSESession: Sendable {
    public struct Options: Sendable {
        /// Values of `-o`: "allow_other", "default_permissions", "fsname=x". Setuid and device files have no effect
        /// unless root mounts with "suid" and "dev".
        public var mountOptions: [String]
        public var maxThreads: Int
        /// Take requests over io_uring where the kernel and the administrator allow it.
        public var ring = true
        /// Ask the kernel for passthrough; requires CAP_SYS_ADMIN as well, or `passthroughHelper`.
        public var passthrough: Bool
        /// The program hydrant-passthrough, installed with CAP_SYS_ADMIN as a file capability (capabilities(7));
        /// started when this process may not register files itself.
        public var passthroughHelper: String?
        /// Take over dropping setuid, setgid and capabilities from the kernel (HANDLE_KILLPRIV_V2, Linux 5.11; older
        /// kernels keep doing it). The kernel then does not ask for security.capability before each write, and the file
        /// system must drop
        /// - setuid, and setgid if the group may execute, when `killPrivileges` comes with a write, an open or create
        ///   (where O_TRUNC changes the bytes) or a setattr (of size or owner);
        /// - security.capability on each write, truncation and change of owner, by any caller.
        ///
        /// Passthrough writes are not seen: such a file must never be opened for writing with a backing id.
        public var killPrivileges: Bool
        /// The bytes that the kernel may read ahead of a sequential reader. More than its own 128 KiB requires root.
        public var readAhead: Int
        /// Whether files open for direct I/O may be mapped as shared (Linux 6.6; before: ENODEV).
        public var mapsDirectIO = false
        /// The mount point is absolute and had no symbolic links when it was checked; if one has appeared on the way,
        /// `mount` fails.
        public var mountPointIsResolved = false

        public init(
            mountOptions: [String] = [], maxThreads: Int = 10, passthrough: Bool = true,
            killPrivileges: Bool = true, readAhead: Int = 1 << 20
        ) {
            self.mountOptions = mountOptions
            self.maxThreads = maxThreads
            self.passthrough = passthrough
            self.killPrivileges = killPrivileges
            self.readAhead = readAhead
        }
    }

    private enum Phase {
        case new, mounted, running, ended
    }

    private struct State {
        var phase = Phase.new
        var path = ""
        var device: String?
        var isExiting = false
    }

    public let mountPoint: String
    let connection: FUSEConnection
    private let maxThreads: Int
    private let mountPointIsResolved: Bool
    /// libfuse's own way to unmount when the process dies. Its helper gets only the path.
    private let unmountsByHelper: Bool
    private let notifier: FUSENotifier
    private let state = Mutex(State())

    public init(mountPoint: String, options: Options, fileSystem: any FUSEFileSystem) throws(FUSEError) {
        self.mountPoint = mountPoint
        maxThreads = options.maxThreads
        mountPointIsResolved = options.mountPointIsResolved
        unmountsByHelper = options.mountOptions.contains("auto_unmount")
        let connection: FUSEConnection
        do {
            connection = try FUSEConnection(options: options, fileSystem: fileSystem)
        } catch {
            throw FUSEError(
                mountPoint, errno: error.errno,
                "libfuse refuses the mount options \(options.mountOptions.joined(separator: ",")): \(error.text)")
        }
        self.connection = connection
        notifier = FUSENotifier { connection.notify($0) }
    }

    deinit {
        notifier.stop()
        // Mounted and never run.
        let (phase, path, device) = state.withLock { ($0.phase, $0.path, $0.device) }
        if phase == .mounted { takeAway(path, device) }
    }

    // MARK: Life

    public func mount() throws(FUSEError) { try mount(meanwhile: {}) }

    /// - Parameter meanwhile: runs between the check of the folder and the mount, for tests.
    func mount(meanwhile: () -> Void) throws(FUSEError) {
        guard state.withLock({ $0.phase == .new && !$0.isExiting }) else {
            throw FUSEError(mountPoint, errno: EBUSY, "this session has been mounted before; make another session")
        }
        // Users without the right mount through fusermount3, which checks the folder with the user's own rights.
        let isPrivileged = hydrant_may_mount() != 0
        if isPrivileged && unmountsByHelper {
            throw FUSEError(
                mountPoint, errno: EINVAL,
                "-o auto_unmount: does not work for root, because it would unmount by path; leave it out")
        }
        let folder = try folder()
        meanwhile()
        do {
            try connection.mount(at: isPrivileged ? folder.link : folder.path)
        } catch {
            if connection.isMounted { takeAway(folder) }
            let text = error.text.replacing(folder.link, with: folder.path)
            let reason = MountObstacle.find() ?? (text.isEmpty ? FUSEError.text(of: error.errno) : text)
            throw FUSEError(mountPoint, errno: error.errno, "cannot mount: \(reason)")
        }
        guard let mount = folder.mount(), mount.isRight else {
            takeAway(folder)
            throw FUSEError(
                mountPoint, errno: ESTALE,
                "the folder was moved or replaced during the mount; nothing is mounted")
        }
        connection.deviceNumber.withLock { $0 = mount.device }
        state.withLock { state in
            state.phase = .mounted
            state.path = mount.path
            state.device = mount.device
        }
    }

    private func takeAway(_ folder: MountFolder) {
        let mount = folder.mount()
        takeAway(mount?.path ?? folder.path, mount?.device)
    }

    /// The kernel must first know that no replies will come, or unmounting could wait for us.
    private func takeAway(_ path: String, _ device: String?) {
        connection.end { false }
        detachMount(at: path, device: device)
    }

    /// The folder of the mount point. Its path is the kernel's, and so is good for unmounting after a change of the
    /// working directory. Our mount is not there yet, so accessing the folder is safe.
    private func folder() throws(FUSEError) -> MountFolder {
        guard let resolved = realpath(mountPoint, nil) else {
            let errno = Glibc.errno
            let advice =
                switch errno {
                case ENOENT: "there is no such folder; create it first"
                case ENOTCONN: "a dead mount is in the way; remove it with: fusermount3 -u -z \(mountPoint)"
                default: "cannot use the folder: \(FUSEError.text(of: errno))"
                }
            throw FUSEError(mountPoint, errno: errno, advice)
        }
        defer { free(resolved) }
        let path = String(cString: resolved)
        if mountPointIsResolved && path != mountPoint { throw replaced }
        if let folder = MountFolder(path) { return folder }
        let errno = Glibc.errno
        switch errno {
        // FUSE would mount on a file as well, and hide it.
        case ENOTDIR where !mountPointIsResolved: throw FUSEError(mountPoint, errno: ENOTDIR, "this is not a folder")
        case ESTALE, ELOOP, ENOTDIR, ENOENT: throw replaced
        default: throw FUSEError(mountPoint, errno: errno, "cannot use the folder: \(FUSEError.text(of: errno))")
        }
    }

    private var replaced: FUSEError {
        FUSEError(mountPoint, errno: ESTALE, "the folder, or one above it, was replaced meanwhile; nothing is mounted")
    }

    /// Serves the mount on libfuse's threads, and blocks this one until the unmount or `exit`. Returns 0 or a positive
    /// errno. The session cannot be used again.
    public func run() -> Int32 {
        let canRun = state.withLock { state in
            guard state.phase == .mounted else { return false }
            state.phase = .running
            return true
        }
        guard canRun else { return ENOTCONN }
        let result = connection.loop.run(connection, threads: maxThreads)
        let (path, device) = state.withLock { state in
            state.phase = .ended
            return (state.path, state.device)
        }
        // The kernel must first know that no replies will come, or unmounting could wait for us.
        notifier.stop()
        connection.end { notifier.isSending }
        detachMount(at: path, device: device)
        return result
    }

    /// Unmounts and makes `run` return, from any thread, without waiting. Processes that still use files of the mount
    /// get errors from then on.
    public func exit() {
        let target = state.withLock { state -> (path: String, device: String?)? in
            guard !state.isExiting, state.phase != .ended else { return nil }
            state.isExiting = true
            return state.phase == .new ? nil : (state.path, state.device)
        }
        guard let target else { return }
        // Unmounting may make the kernel write back mappings, which needs the loop; but it must not block us for ever.
        // When no file is open, it ends the loop too.
        let detached = Monitor(false)
        startThread {
            detachMount(at: target.path, device: target.device)
            detached.withLock { $0 = true }
        }
        startThread { [connection] in
            let deadline = monotonicNow() + Self.unmountPatience
            detached.wait { isDetached in
                isDetached || monotonicNow() >= deadline ? .done(()) : .waitUntil(nanoseconds: deadline)
            }
            connection.loop.stop()
        }
    }

    private static let unmountPatience: UInt64 = 1_000_000_000

    // MARK: Transport

    /// The way that the kernel's requests come.
    public enum Transport: Sendable, Equatable {
        case ring
        /// Reads and writes of /dev/fuse; why not the ring, if that is known.
        case device(reason: String?)
    }

    /// Known after the kernel's INIT (before the first request).
    public var transport: Transport {
        connection.ring.isActive ? .ring : .device(reason: connection.ringRefusal.withLock { $0 })
    }

    // MARK: Invalidation

    /// The kernel drops a node's attributes, and its pages from `offset` on (`length` 0: all); with a negative offset
    /// only its attributes. Sent later, from another thread.
    ///
    /// - Parameter then: called once, when the kernel has dropped them, or the session has ended; must be quick.
    public func invalidateInode(
        _ node: UInt64, offset: Int64, length: Int64, then: (@Sendable () -> Void)? = nil
    ) {
        notifier.enqueue(.inode(node, offset: offset, length: length), then: then)
    }

    /// The kernel drops its entry for a name, also a negative one. Sent later, from another thread.
    public func invalidateEntry(parent: UInt64, name: [UInt8]) {
        notifier.enqueue(.entry(parent: parent, name: name))
    }

    /// The kernel looks the name up again at its next use; unlike after ``invalidateEntry(parent:name:)`` it keeps its
    /// entry if the reply is the same, so that getcwd(3) and /proc/PID/fd do not call the file deleted meanwhile. A
    /// reply under way may still count: use it only for names of which nothing was known. Sent later, from another
    /// thread; before Linux 6.2 it drops the entry.
    public func expireEntry(parent: UInt64, name: [UInt8]) {
        notifier.enqueue(.expiry(parent: parent, name: name))
    }

    /// Blocks until the notifications queued so far have reached the kernel. Never call it from a callback.
    public func drainInvalidations() { notifier.drain() }

    /// - Parameter then: called, once, when what was queued so far about a node, and names in it, has reached the kernel, or
    ///   the session has ended; it must be quick.
    public func settleInvalidations(of node: UInt64, then: @escaping @Sendable () -> Void) {
        notifier.settle(node, then: then)
    }
}

extension FUSEConnection {
    /// libfuse requires a NUL after the name, outside its length.
    private func withName(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        (name + [0]).withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
    }

    fileprivate func notify(_ notification: FUSENotifier.Notification) {
        switch notification {
        case .inode(let node, let offset, let length):
            _ = fuse_lowlevel_notify_inval_inode(session, node, off_t(offset), off_t(length))
        case .entry(let parent, let name):
            _ = withName(name) { fuse_lowlevel_notify_inval_entry(session, parent, $0, name.count) }
        case .expiry(let parent, let name):
            let result = withName(name) { hydrant_expire_entry(session, parent, $0, name.count) }
            if result == -ENOSYS { notify(.entry(parent: parent, name: name)) }
        }
    }
}
