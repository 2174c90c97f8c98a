package import FUSE
import Volume

extension MountFrontend {
    // For these two the kernel does not pass on that the caller lacks CAP_FSETID (as it does for a write).

    package func fallocate(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, mode: Int32, offset: Int64, length: Int64
    ) {
        let isUser = request.context.uid != 0
        answerNow(request) { () throws(VolumeError) in
            defer { view.wasWritten(NodeID(rawValue: node)) }
            try volume.allocate(
                HandleID(rawValue: handle), mode: mode, offset: offset, length: length, killsPrivileges: isUser)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func lseek(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, whence: Int32
    ) {
        let seekData: Int32 = 3  // lseek(2); the kernel asks for SEEK_DATA and SEEK_HOLE only
        answerNow(request) { () throws(VolumeError) in
            try volume.seek(HandleID(rawValue: handle), offset: offset, data: whence == seekData)
        } _: { request, found in
            request.reply(offset: found)
        }
    }

    package func copyFileRange(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, toNode: UInt64,
        toHandle: UInt64, toOffset: Int64, length: Int, flags: Int32
    ) {
        let (volume, view, isUser) = (volume, view, request.context.uid != 0)
        answer(request) { () throws(VolumeError) in
            defer { view.wasWritten(NodeID(rawValue: toNode)) }
            return try volume.copy(
                from: HandleID(rawValue: handle), at: offset, to: HandleID(rawValue: toHandle), at: toOffset,
                count: length, killsPrivileges: isUser)
        } _: { request, count in
            request.reply(written: count)
        }
    }
}
