package import FUSE
import FileProvider
import Volume

extension MountFrontend {
    package func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        let volume = volume
        answer(request) { () throws(VolumeError) in
            switch name {
            // (FUSE_EXPORT_SUPPORT: look-ups by file handle.)
            case Self.itself: try volume.lookUp(NodeID(rawValue: parent))
            case Self.above: try volume.lookUpParent(of: NodeID(rawValue: parent))
            default: try volume.lookUp(Filename(bytes: name), in: NodeID(rawValue: parent))
            }
        } _: { request, found in
            guard let found else {
                request.replyNegative(timeout: forEver)
                return
            }
            if !request.reply(entry: found.entry) { volume.forget(found.node, count: 1) }
        }
    }

    private static let itself = Array(".".utf8)
    private static let above = Array("..".utf8)

    package func forget(node: UInt64, count: UInt64) {
        volume.kernelForgets(NodeID(rawValue: node), count: count)
    }

    package func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
        let (volume, context) = (volume, request.context)
        answer(request) { () throws(VolumeError) in
            try volume.makeFolder(
                Filename(bytes: name), in: NodeID(rawValue: parent), mode: mode, uid: context.uid,
                gid: context.gid)
        } _: { request, made in
            if !request.reply(entry: made.entry) { volume.forget(made.node, count: 1) }
        }
    }

    package func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8]) {
        let (volume, context) = (volume, request.context)
        answer(request) { () throws(VolumeError) in
            try volume.makeLink(
                Filename(bytes: name), in: NodeID(rawValue: parent), target: target, uid: context.uid,
                gid: context.gid)
        } _: { request, made in
            if !request.reply(entry: made.entry) { volume.forget(made.node, count: 1) }
        }
    }

    package func readlink(_ request: consuming FUSERequest, node: UInt64) {
        answerNow(request) { () throws(VolumeError) in
            try volume.readLink(NodeID(rawValue: node))
        } _: { request, target in
            request.reply(target: target)
        }
    }

    package func unlink(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        let volume = volume
        answer(request) { () throws(VolumeError) in
            try volume.unlink(Filename(bytes: name), in: NodeID(rawValue: parent))
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        let volume = volume
        answer(request) { () throws(VolumeError) in
            try volume.removeFolder(Filename(bytes: name), in: NodeID(rawValue: parent))
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func rename(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], newParent: UInt64, newName: [UInt8],
        flags: UInt32
    ) {
        // renameat2(2): RENAME_NOREPLACE and RENAME_EXCHANGE. Whiteouts are for lower layers of overlays.
        let (noReplace, exchange): (UInt32, UInt32) = (1, 2)
        guard flags & ~(noReplace | exchange) == 0, flags != noReplace | exchange else {
            request.reply(errno: 22 /* EINVAL */)
            return
        }
        let volume = volume
        answer(request) { () throws(VolumeError) in
            if flags == exchange {
                return try volume.exchange(
                    Filename(bytes: name), in: NodeID(rawValue: parent), with: Filename(bytes: newName),
                    in: NodeID(rawValue: newParent))
            }
            return try volume.rename(
                Filename(bytes: name), in: NodeID(rawValue: parent), to: Filename(bytes: newName),
                in: NodeID(rawValue: newParent), noReplace: flags & noReplace != 0)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }
}
