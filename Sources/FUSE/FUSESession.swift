internal import CFUSE
internal import Glibc
internal import Synchronization

/// One mount: `init` checks the options, `mount` mounts, `run` serves until it is unmounted.
/// It keeps its file system until `run` has returned.
public final class FUSESession: Sendable {
    public struct Options: Sendable {
        /// As after `-o`, one each: "allow_other", "default_permissions", "fsname=x". Setuid and device files are
        /// dead unless root mounts with "suid" and "dev".
        public var mountOptions: [String]
        public var maxThreads: Int
        /// Ask the kernel for passthrough; it needs CAP_SYS_ADMIN besides, or `passthroughHelper`.
        public var passthrough: Bool
        /// The program hydrant-passthrough, installed with CAP_SYS_ADMIN as a file capability (capabilities(7)); it is
        /// started when this process may not register files itself.
        public var passthroughHelper: String?
        /// Take over from the kernel to drop setuid, setgid and capabilities (HANDLE_KILLPRIV_V2, Linux 5.11;
        /// an older kernel goes on by itself). It no longer asks for security.capability before each write then,
        /// and the file system has to drop
        /// - setuid, and setgid if the group may execute, when `killPrivileges` comes with a write, an open or
        ///   create (of which O_TRUNC changes the bytes) or a setattr (of size or owner);
        /// - security.capability on each write, truncation and change of owner, whoever asks.
        ///
        /// What is written past us goes unseen: such a file must never be opened for writing with a backing id.
        public var killPrivileges: Bool
        /// How many bytes the kernel may read ahead of a sequential reader. More than its own
        /// 128 KiB takes root; without, it stays at that.
        public var readAhead: Int
        /// Whether files that are open for direct I/O may be mapped and shared (Linux 6.6; before that: ENODEV).
        public var mapsDirectIO = false
        /// The mount point is absolute and was free of symbolic links when it was looked at; if one is on the way by
        /// now, nothing is mounted.
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
    /// libfuse's own way to unmount when the process dies. Its helper is given the path only.
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
                "libfuse does not take the mount options \(options.mountOptions.joined(separator: ",")): \(error.text)")
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

    /// - Parameter meanwhile: what somebody else does between the look at the folder and the mount; for tests.
    func mount(meanwhile: () -> Void) throws(FUSEError) {
        guard state.withLock({ $0.phase == .new && !$0.isExiting }) else {
            throw FUSEError(mountPoint, errno: EBUSY, "this session has been mounted before; make another one")
        }
        // Whoever is not allowed to has fusermount3 do it, which looks at the folder with the user's own rights.
        let isPrivileged = hydrant_may_mount() != 0
        if isPrivileged && unmountsByHelper {
            throw FUSEError(
                mountPoint, errno: EINVAL,
                "-o auto_unmount: not for root, whose mount it would take away by its path; leave it out")
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
                "the folder was moved or replaced while it was being mounted on; nothing is mounted")
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

    /// The kernel must know first that nobody answers, or unmounting could wait for us.
    private func takeAway(_ path: String, _ device: String?) {
        connection.end { false }
        detachMount(at: path, device: device)
    }

    /// The folder of the mount point. Its path is as the kernel will write it, and as it is unmounted whatever becomes
    /// of the working directory. Nothing of ours is mounted there yet, so it may be looked at.
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
        case ENOTDIR where !mountPointIsResolved: throw FUSEError(mountPoint, errno: ENOTDIR, "this is no folder")
        case ESTALE, ELOOP, ENOTDIR, ENOENT: throw replaced
        default: throw FUSEError(mountPoint, errno: errno, "cannot use the folder: \(FUSEError.text(of: errno))")
        }
    }

    private var replaced: FUSEError {
        FUSEError(mountPoint, errno: ESTALE, "the folder, or one above it, was replaced meanwhile; nothing is mounted")
    }

    /// Serves the mount on libfuse's threads and blocks this one until it is unmounted or
    /// `exit` is called. Returns 0 or a positive errno. The session cannot be used again.
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
        // First the kernel must know that nobody answers any more, or unmounting could wait for us.
        notifier.stop()
        connection.end { notifier.isSending }
        detachMount(at: path, device: device)
        return result
    }

    /// Unmounts and makes `run` return, from any thread, without waiting for it. Processes
    /// that still use files of the mount get errors from then on.
    public func exit() {
        let target = state.withLock { state -> (path: String, device: String?)? in
            guard !state.isExiting, state.phase != .ended else { return nil }
            state.isExiting = true
            return state.phase == .new ? nil : (state.path, state.device)
        }
        guard let target else { return }
        // Unmounting may make the kernel write out what is mapped, which needs the loop alive;
        // but it must not keep us for ever. When nobody has a file open it ends the loop too.
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

    // MARK: Invalidation

    /// The kernel forgets a node's attributes, and its pages from `offset` on (`length` 0: all
    /// of them); with a negative offset only its attributes. Sent later, from another thread.
    ///
    /// - Parameter then: called, once, when the kernel has forgotten them, or the session has ended; it must be quick.
    public func invalidateInode(
        _ node: UInt64, offset: Int64, length: Int64, then: (@Sendable () -> Void)? = nil
    ) {
        notifier.enqueue(.inode(node, offset: offset, length: length), then: then)
    }

    /// The kernel forgets what a name stands for, or that there is none. Sent later, from
    /// another thread.
    public func invalidateEntry(parent: UInt64, name: [UInt8]) {
        notifier.enqueue(.entry(parent: parent, name: name))
    }

    /// The kernel asks again what a name stands for when it is next used; unlike ``invalidateEntry(parent:name:)`` it
    /// keeps what it has if that is the answer, so that getcwd(3) and /proc/PID/fd do not call it deleted meanwhile.
    /// An answer that is under way may still count: only for names of which nothing was known. Sent later, from another
    /// thread; before Linux 6.2 the name is forgotten.
    public func expireEntry(parent: UInt64, name: [UInt8]) {
        notifier.enqueue(.expiry(parent: parent, name: name))
    }

    /// Blocks until what was queued so far has reached the kernel. Never from a callback.
    public func drainInvalidations() { notifier.drain() }

    /// The same for what was queued about one node, and names in it; at most so many seconds. Says whether it has.
    public func drainInvalidations(of node: UInt64, within seconds: Double) -> Bool {
        notifier.drain(node, within: UInt64(seconds * 1e9))
    }
}

extension FUSEConnection {
    /// libfuse wants a NUL after the name that it does not count.
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
