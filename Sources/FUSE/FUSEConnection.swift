internal import CFUSE
internal import Glibc
internal import Synchronization

/// libfuse's session and its device. It lives until the FUSESession and the last request have released it, since
/// libfuse needs its session to answer a request.
///
/// `@unchecked Sendable`: `session` and `ring` are written in init only and have their own locks; `fileSystem` is written before the
/// loop starts and after it has ended.
final class FUSEConnection: @unchecked Sendable {
    private(set) var session: OpaquePointer?
    var fileSystem: (any FUSEFileSystem)?
    let interrupter = FUSEInterrupter()
    let loop = FUSELoop()

    /// The second way of requests, beside the device; idle unless the kernel and the administrator allow it.
    private(set) var ring: FUSERing!
    /// Why the ring is not in use; nil: it is, or nothing is known yet.
    let ringRefusal = Mutex<String?>(nil)
    private let wantsRing: Bool
    private let threads: Int
    private let wantsPassthrough: Bool
    private let wantsKillPrivileges: Bool
    private let mapsDirectIO: Bool
    private let readAhead: Int
    /// "0:49"; known once mounted.
    let deviceNumber = Mutex<String?>(nil)
    let device = Atomic<Int32>(-1)
    /// A device that is connected to nothing, to replace the device at the end. Opened at the start, as opening may
    /// fail later.
    let standIn = Atomic<Int32>(-1)
    let hasEnded = Atomic(false)
    /// The numbers of the requests that the kernel waits for.
    let unanswered = FUSEUnanswered()
    private let awaitsInit = Atomic(true)
    private let offer = Mutex<FUSEInitOffer?>(nil)
    let passthrough: Passthrough

    /// The text is libfuse's explanation when it refuses the options.
    init(options: FUSESession.Options, fileSystem: any FUSEFileSystem) throws(Refusal) {
        wantsRing = options.ring
        threads = options.maxThreads
        wantsPassthrough = options.passthrough
        passthrough = Passthrough(helper: options.passthroughHelper)
        wantsKillPrivileges = options.killPrivileges
        mapsDirectIO = options.mapsDirectIO
        readAhead = options.readAhead
        self.fileSystem = fileSystem
        ring = FUSERing(self)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("hydrant")]
        for option in options.mountOptions {
            arguments.append(strdup("-o"))
            arguments.append(strdup(Self.escaped(option)))
        }
        let count = arguments.count
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }

        let (session, explanation) = FUSELog.capture {
            arguments.withUnsafeMutableBufferPointer { buffer in
                var list = fuse_args(argc: Int32(count), argv: buffer.baseAddress, allocated: 0)
                defer { fuse_opt_free_args(&list) }
                var operations = makeOperationsTable()
                return fuse_session_new(
                    &list, &operations, MemoryLayout<fuse_lowlevel_ops>.size,
                    Unmanaged.passUnretained(self).toOpaque())
            }
        }
        guard let session else { throw Refusal(errno: EINVAL, text: explanation) }
        self.session = session
    }

    deinit {
        guard let session else { return }
        // Closes the device too. After `end` its stand-in reports an error, which libfuse takes for "already
        // unmounted"; libfuse's path may belong to a descriptor that is long closed.
        fuse_session_unmount(session)
        fuse_session_destroy(session)
        let standIn = standIn.load(ordering: .sequentiallyConsistent)
        if standIn >= 0 { close(standIn) }
    }

    struct Refusal: Error {
        var errno: Int32
        var text: String
    }

    /// A comma in a value must not start another option.
    private static func escaped(_ option: String) -> String {
        guard let equals = option.firstIndex(of: "=") else { return option }
        var result = String(option[...equals])
        for character in option[option.index(after: equals)...] {
            if character == "," || character == "\\" { result.append("\\") }
            result.append(character)
        }
        return result
    }

    // MARK: The mount

    var isMounted: Bool { device.load(ordering: .sequentiallyConsistent) >= 0 }

    /// - Parameter path: may be a link of /proc to an open folder, for mount(2) itself.
    func mount(at path: String) throws(Refusal) {
        standIn.store(open("/dev/fuse", O_RDWR | O_CLOEXEC), ordering: .sequentiallyConsistent)
        let ((result, errno), explanation) = FUSELog.capture {
            let result = fuse_session_mount(session, path)
            return (result, Glibc.errno)
        }
        guard result == 0 else { throw Refusal(errno: errno == 0 ? EIO : errno, text: explanation) }
        let fd = fuse_session_fd(session)
        device.store(fd, ordering: .sequentiallyConsistent)
        var io = fuse_custom_io(
            writev: { fd, vectors, count, connection in
                FUSEConnection.of(connection).send(fd, vectors, count)
            },
            read: { fd, buffer, size, connection in
                // FUSELoop ends its threads by cancelling them in this read. The unwinding skips Swift's releases, so
                // nothing may be retained before it returns.
                let count = read(fd, buffer, size)
                if count > 0 { FUSEConnection.of(connection).received(buffer, count) }
                return count
            },
            splice_receive: nil, splice_send: nil)
        // The same descriptor again: this makes libfuse call our functions instead of the device.
        let taken = fuse_session_custom_io(session, &io, fd)
        guard taken == 0 else { throw Refusal(errno: -taken, text: "") }
    }

    // MARK: Between libfuse and the device

    static func of(_ pointer: UnsafeMutableRawPointer?) -> FUSEConnection {
        Unmanaged<FUSEConnection>.fromOpaque(pointer!).takeUnretainedValue()
    }

    private func received(_ buffer: UnsafeMutableRawPointer?, _ count: Int) {
        let header = buffer!.assumingMemoryBound(to: fuse_in_header.self).pointee
        if header.wantsAnswer { unanswered.insert(header.unique) }
        FUSECurrentRequest.note(UnsafeRawBufferPointer(start: buffer, count: count))
        guard awaitsInit.load(ordering: .acquiring) else { return }
        if let received = FUSEInitOffer(request: UnsafeRawBufferPointer(start: buffer, count: count)) {
            offer.withLock { $0 = received }
        }
    }

    private func send(_ fd: Int32, _ vectors: UnsafeMutablePointer<iovec>?, _ count: Int32) -> Int {
        guard let vectors, count > 0 else { return 0 }
        let header = vectors[0].iov_base.assumingMemoryBound(to: fuse_out_header.self)
        let isNotification = header.pointee.unique == 0
        if !isNotification {
            let parts = UnsafeBufferPointer(start: vectors, count: Int(count))
            if ring.isActive, ring.answer(header.pointee.unique, parts) { return parts.reduce(0) { $0 + $1.iov_len } }
            unanswered.remove(header.pointee.unique)
        }
        if awaitsInit.load(ordering: .acquiring), !isNotification,
            let offer = offer.withLock({ $0 }), offer.unique == header.pointee.unique
        {
            awaitsInit.store(false, ordering: .releasing)
            let sent = answerInit(fd, vectors, count, offer)
            let error = errno
            if let device = deviceNumber.withLock({ $0 }) { raiseReadAhead(to: readAhead, device: device) }
            errno = error
            return sent
        }
        let sent = writev(fd, vectors, count)
        // libfuse passes on ENOENT without a message on standard error. A notification about something that the kernel
        // has forgotten, or a reply after the end, needs no message.
        if sent < 0, isNotification || hasEnded.load(ordering: .relaxed) { errno = ENOENT }
        return sent
    }

    private func answerInit(
        _ fd: Int32, _ vectors: UnsafeMutablePointer<iovec>, _ count: Int32, _ offer: FUSEInitOffer
    ) -> Int {
        var reply: [UInt8] = []
        for vector in UnsafeBufferPointer(start: vectors, count: Int(count)) {
            reply += UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
        }
        reply.withUnsafeMutableBytes { offer.requestParallelDirectories(in: $0) }
        if wantsKillPrivileges { _ = reply.withUnsafeMutableBytes { offer.requestKillPrivileges(in: $0) } }
        if mapsDirectIO { reply.withUnsafeMutableBytes { offer.requestDirectIOMapping(in: $0) } }
        if wantsPassthrough {
            let isChanged = reply.withUnsafeMutableBytes { offer.requestPassthrough(in: $0) }
            // Before the write: the first open may come before it returns.
            if isChanged { passthrough.isOffered(on: fd) }
        }
        let isRing = reply.withUnsafeMutableBytes { startRing(fd, offer, $0) }
        let sent = write(fd, reply, reply.count)
        let error = errno
        if sent >= 0 {
            if isRing { ring.serve() }
            passthrough.prepare()
        } else if isRing {
            ring.abandon()
        }
        errno = error
        return sent
    }

    /// Whether the reply to INIT says that requests go over the ring: then they do, and the kernel makes them wait for
    /// it.
    private func startRing(_ fd: Int32, _ offer: FUSEInitOffer, _ reply: UnsafeMutableRawBufferPointer) -> Bool {
        func refuse(_ text: String) -> Bool {
            ringRefusal.withLock { $0 = text }
            return false
        }
        guard wantsRing else { return refuse("it is switched off (HYDRANT_RING=0)") }
        guard offer.offersRing else { return refuse(FUSERing.missingOffer) }
        guard let payload = offer.payloadSize(in: reply) else { return refuse("libfuse refuses the kernel's offer") }
        do {
            try ring.prepare(device: fd, payloadSize: payload, threads: threads)
        } catch {
            return refuse(error.text)
        }
        offer.requestRing(in: reply)
        return true
    }

    // MARK: Passthrough

    var passthroughAvailable: Bool { passthrough.isAvailable && !hasEnded.load(ordering: .relaxed) }

    /// The backing id, or -errno.
    func openBacking(_ fileDescriptor: Int32) -> Int32 {
        guard passthroughAvailable else { return -EOPNOTSUPP }
        return passthrough.open(fileDescriptor)
    }

    func closeBacking(_ id: Int32) {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        passthrough.close(id)
    }
}
