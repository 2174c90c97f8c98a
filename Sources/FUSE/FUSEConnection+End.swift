internal import CFUSE
internal import Glibc
internal import Locking
internal import Synchronization

extension fuse_in_header {
    var wantsAnswer: Bool {
        switch fuse_opcode(opcode) {
        case FUSE_FORGET, FUSE_BATCH_FORGET, FUSE_INTERRUPT, FUSE_NOTIFY_REPLY: false
        default: true
        }
    }
}

extension FUSEConnection {
    /// After the end of the loop: fails every request that still waits with ENOTCONN, and releases the device.
    ///
    /// The kernel would fail the requests itself, but only when the last user of the device is gone, and a notification
    /// can be stuck in it, waiting for a page that a hung read has locked. `isStuck` tells whether one is.
    func end(isStuck: () -> Bool) {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        // No thread calls it any more.
        fileSystem = nil
        passthrough.end()
        let fd = device.load(ordering: .sequentiallyConsistent)
        guard fd >= 0 else { return }
        let deadline = monotonicNow() + 5_000_000_000
        repeat { failEverything(fd) } while isStuck() && monotonicNow() < deadline && usleep(1000) == 0
        ring.close()

        // Late replies are still to come, so the descriptor's number must stay in use: by a device that is connected to
        // nothing. That one reports an error when polled, which libfuse takes for "already unmounted" when it cleans
        // up.
        var standIn = standIn.exchange(-1, ordering: .sequentiallyConsistent)
        if standIn < 0 { standIn = open("/dev/null", O_RDONLY | O_CLOEXEC) }
        guard standIn >= 0 else { return }
        _ = hydrant_replace(fd, standIn)
        close(standIn)
    }

    /// Requests read and not answered, and requests not read.
    private func failEverything(_ fd: Int32) {
        for number in unanswered.takeAll() { fail(number, fd) }
        ring.failEverything()

        _ = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK)
        // As large as libfuse's own: the kernel refuses to pass a request to a smaller one.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: (1 << 20) + 0x1000, alignment: 16)
        defer { buffer.deallocate() }
        while read(fd, buffer.baseAddress, buffer.count) >= MemoryLayout<fuse_in_header>.size {
            let header = buffer.load(as: fuse_in_header.self)
            if header.wantsAnswer { fail(header.unique, fd) }
        }
    }

    private func fail(_ number: UInt64, _ fd: Int32) {
        var header = fuse_out_header(
            len: UInt32(MemoryLayout<fuse_out_header>.size), error: -ENOTCONN, unique: number)
        _ = write(fd, &header, MemoryLayout<fuse_out_header>.size)
    }
}
