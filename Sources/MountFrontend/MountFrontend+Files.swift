package import FUSE
import FileProvider
import Glibc
import Volume

extension MountFrontend {
    package func create(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, flags: Int32,
        killPrivileges: Bool
    ) {
        let (view, context) = (view, request.context)
        change(request) { () throws(VolumeError) in
            try view.create(
                Filename(bytes: name), in: NodeID(rawValue: parent), mode: mode, uid: context.uid,
                gid: context.gid, traits: OpenTraits(flags))
        } _: { [isCached] request, made in
            let (lookup, opened) = made
            let reply = FUSEOpenReply(opened, isCached: isCached)
            if !request.reply(create: lookup.entry(isCached: isCached), open: reply) {
                view.close(opened.handle)
                view.forget(lookup.node, count: 1)
            }
        }
    }

    package func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
        let thread = request.context.pid
        changeNow(request) { () throws(VolumeError) in
            try view.open(
                NodeID(rawValue: node), flags: flags, killsPrivileges: killPrivileges,
                traits: OpenTraits(flags), thread: thread)
        } _: { [view, isCached] request, opened in
            if !request.reply(open: FUSEOpenReply(opened, isCached: isCached)) { view.close(opened.handle) }
        }
    }

    package func read(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        let (volume, thread) = (volume, request.context.pid)
        answer(request) { () throws(VolumeError) -> Outcome<ReadBuffer> in
            let buffer = ReadBuffer(size: size)
            switch try volume.read(HandleID(rawValue: handle), into: buffer.memory, at: offset, thread: thread) {
            case .ready(let count):
                buffer.count = count
                return .ready(buffer)
            case .wait(let wait): return .wait(wait)
            }
        } _: { request, buffer in
            request.reply(bytes: UnsafeRawBufferPointer(rebasing: buffer.memory[..<buffer.count]))
        }
    }

    package func write(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, bytes: UnsafeRawBufferPointer,
        offset: Int64, flags: Int32, killPrivileges: Bool
    ) {
        answerNow(request) { () throws(VolumeError) in
            defer { view.wasWritten(NodeID(rawValue: node)) }
            try volume.write(
                HandleID(rawValue: handle), bytes, at: offset, appends: flags & O_APPEND != 0,
                killsPrivileges: killPrivileges)
        } _: { request, _ in
            let count = bytes.count
            guard flags & FUSEFileFlags.direct != 0 else {
                request.reply(written: count)
                return
            }
            let pending = FUSEPendingRequest(request)
            volume.wasWrittenDirectly(NodeID(rawValue: node), offset..<offset + Int64(count)) {
                pending.take()?.reply(written: count)
            }
            pending.onInterrupt { [weak pending] in pending?.take()?.reply(written: count) }
        }
    }

    package func flush(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        let thread = request.context.pid
        changeNow(request) { () throws(VolumeError) in
            try view.flush(HandleID(rawValue: handle), of: NodeID(rawValue: node), thread: thread)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func release(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        view.close(HandleID(rawValue: handle))
        request.reply(errno: 0)
    }

    package func fsync(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        answerNow(request) { () throws(VolumeError) in
            try volume.synchronize(HandleID(rawValue: handle))
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }
}

/// Memory for the reply to one read.
private final class ReadBuffer {
    let memory: UnsafeMutableRawBufferPointer
    var count = 0

    init(size: Int) { memory = .allocate(byteCount: size, alignment: 16) }
    deinit { memory.deallocate() }
}

extension OpenTraits {
    /// From open(2)'s flags. A scope's view drops ``showsChanges``. (O_APPEND has no effect for a reader.)
    fileprivate init(_ flags: Int32) {
        self = []
        let access = flags & O_ACCMODE
        if flags & FUSEFileFlags.direct != 0 || (flags & O_APPEND != 0 && access != O_RDONLY) { insert(.mayDropFlags) }
        if access == O_WRONLY { insert(.showsChanges) }
    }
}
