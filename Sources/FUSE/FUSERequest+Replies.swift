internal import CFUSE
internal import Glibc

extension FUSERequest {
    /// A positive errno, or 0 for success without data.
    @discardableResult
    public consuming func reply(errno: Int32) -> Bool {
        finish { fuse_reply_err($0, errno) }
    }

    @discardableResult
    public consuming func reply(entry: FUSEEntry) -> Bool {
        var out = entry.parameters
        return finish { fuse_reply_entry($0, &out) }
    }

    /// There is no such name; the kernel may remember that for `timeout` seconds.
    @discardableResult
    public consuming func replyNegative(timeout: Double) -> Bool {
        var out = fuse_entry_param()
        out.entry_timeout = timeout
        return finish { fuse_reply_entry($0, &out) }
    }

    consuming func send(attributes: stat, timeout: Double) -> Bool {
        var out = attributes
        return finish { fuse_reply_attr($0, &out, timeout) }
    }

    // open and create are always answered with the kernel's own structs: those of libfuse 3.14 have no field for a
    // backing id.

    @discardableResult
    public consuming func reply(open: FUSEOpenReply) -> Bool {
        var out = open.raw
        return finish { request in
            withUnsafeBytes(of: &out) { request.send($0) }
        }
    }

    @discardableResult
    public consuming func reply(create entry: FUSEEntry, open: FUSEOpenReply) -> Bool {
        var out = hydrant_create_out(entry: entry.raw, open: open.raw)
        return finish { request in
            withUnsafeBytes(of: &out) { request.send($0) }
        }
    }

    /// At most the number of requested bytes; fewer only at the end of the file.
    @discardableResult
    public consuming func reply(bytes: UnsafeRawBufferPointer) -> Bool {
        finish { $0.send(bytes) }
    }

    // A closure such as withUnsafeBytes' cannot consume a captured request; these two avoid the detour through
    // Optional.

    @discardableResult
    public consuming func reply(bytes: [UInt8]) -> Bool {
        finish { request in
            bytes.withUnsafeBytes { request.send($0) }
        }
    }

    /// `fill` writes the bytes and returns their number, or a negative errno, like `pread`.
    @discardableResult
    public consuming func reply(upTo size: Int, fill: (UnsafeMutableRawBufferPointer) -> Int) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { buffer.deallocate() }
        let count = fill(buffer)
        guard count >= 0 else { return reply(errno: Int32(clamping: -count)) }
        return reply(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<min(count, size)]))
    }

    /// For write and copyFileRange.
    @discardableResult
    public consuming func reply(written: Int) -> Bool {
        finish { fuse_reply_write($0, written) }
    }

    /// For lseek.
    @discardableResult
    public consuming func reply(offset: Int64) -> Bool {
        finish { fuse_reply_lseek($0, off_t(offset)) }
    }

    /// For getxattr and listxattr. `size` is the requested size: 0 asks for the length only, and a longer value is
    /// ERANGE.
    @discardableResult
    public consuming func reply(xattr bytes: [UInt8], size: Int) -> Bool {
        if size == 0 { return finish { fuse_reply_xattr($0, bytes.count) } }
        return bytes.count <= size ? reply(bytes: bytes) : reply(errno: ERANGE)
    }

    /// For readlink.
    @discardableResult
    public consuming func reply(target: [UInt8]) -> Bool {
        finish { request in
            target.withUnsafeBytes { request.send($0) }
        }
    }

    consuming func send(statistics: statvfs) -> Bool {
        var out = statistics
        return finish { fuse_reply_statfs($0, &out) }
    }

    @discardableResult
    public consuming func reply(directory: borrowing FUSEDirectoryBuffer) -> Bool {
        let bytes = directory.bytes
        return finish { $0.send(bytes) }
    }
}

extension fuse_req_t {
    fileprivate func send(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        fuse_reply_buf(self, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
}

extension FUSEEntry {
    var parameters: fuse_entry_param {
        var out = fuse_entry_param()
        out.ino = node
        out.attr = attributes
        out.attr_timeout = attributeTimeout
        out.entry_timeout = entryTimeout
        return out
    }

    var raw: fuse_entry_out {
        var out = fuse_entry_out()
        out.nodeid = node
        (out.entry_valid, out.entry_valid_nsec) = split(seconds: entryTimeout)
        (out.attr_valid, out.attr_valid_nsec) = split(seconds: attributeTimeout)
        out.attr = fuse_attr(attributes)
        return out
    }
}

extension fuse_attr {
    init(_ attributes: stat) {
        self.init()
        ino = UInt64(attributes.st_ino)
        size = UInt64(bitPattern: Int64(attributes.st_size))
        blocks = UInt64(bitPattern: Int64(attributes.st_blocks))
        atime = UInt64(bitPattern: Int64(attributes.st_atim.tv_sec))
        mtime = UInt64(bitPattern: Int64(attributes.st_mtim.tv_sec))
        ctime = UInt64(bitPattern: Int64(attributes.st_ctim.tv_sec))
        atimensec = UInt32(truncatingIfNeeded: attributes.st_atim.tv_nsec)
        mtimensec = UInt32(truncatingIfNeeded: attributes.st_mtim.tv_nsec)
        ctimensec = UInt32(truncatingIfNeeded: attributes.st_ctim.tv_nsec)
        mode = attributes.st_mode
        nlink = UInt32(truncatingIfNeeded: attributes.st_nlink)
        uid = attributes.st_uid
        gid = attributes.st_gid
        rdev = UInt32(truncatingIfNeeded: attributes.st_rdev)
        blksize = UInt32(truncatingIfNeeded: attributes.st_blksize)
    }
}

extension FUSEOpenReply {
    var raw: hydrant_open_out {
        var flags: UInt32 = 0
        func set(_ flag: Int, _ isSet: Bool) { if isSet { flags |= UInt32(flag) } }
        // The kernel refuses (EIO) a passthrough open that has cache flags.
        set(HYDRANT_OPEN_KEEP_CACHE, keepCache && backing == nil)
        set(HYDRANT_OPEN_CACHE_DIRECTORY, cacheDirectory && backing == nil)
        set(HYDRANT_OPEN_NO_FLUSH, noFlush)
        set(HYDRANT_OPEN_DIRECT_IO, directIO)
        set(HYDRANT_OPEN_PASSTHROUGH, backing != nil)
        return hydrant_open_out(fh: handle, open_flags: flags, backing_id: backing?.rawValue ?? 0)
    }
}

/// As in libfuse: a time that is too long (or infinite) becomes the longest possible.
func split(seconds: Double) -> (seconds: UInt64, nanoseconds: UInt32) {
    guard seconds > 0 else { return (0, 0) }
    guard seconds < 0x1p63 else { return (.max, 999_999_999) }
    let whole = UInt64(seconds)
    return (whole, UInt32(min((seconds - Double(whole)) * 1e9, 999_999_999)))
}
