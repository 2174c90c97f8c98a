package import FUSE
import FileProvider
import Volume

extension MountFrontend {
    package func lookup(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        let view = view
        answer(request) { () throws(VolumeError) in
            switch name {
            // (FUSE_EXPORT_SUPPORT: look-ups by file handle.)
            case Self.itself: try view.lookUp(NodeID(rawValue: parent))
            case Self.above: try view.lookUpParent(of: NodeID(rawValue: parent))
            default: try view.lookUp(Filename(bytes: name), in: NodeID(rawValue: parent))
            }
        } _: { [self] request, found in
            guard let found else {
                request.replyNegative(timeout: isCached ? forEver : 0)
                return
            }
            reply(request, found)
        }
    }

    func reply(_ request: consuming FUSERequest, _ lookup: Lookup) {
        if !request.reply(entry: lookup.entry(isCached: isCached)) { view.forget(lookup.node, count: 1) }
    }

    private static let itself = Array(".".utf8)
    private static let above = Array("..".utf8)

    package func forget(node: UInt64, count: UInt64) {
        view.kernelForgets(NodeID(rawValue: node), count: count)
    }

    package func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
        let (view, context) = (view, request.context)
        change(request) { () throws(VolumeError) in
            try view.makeFolder(
                Filename(bytes: name), in: NodeID(rawValue: parent), mode: mode, uid: context.uid,
                gid: context.gid)
        } _: { [self] request, made in
            reply(request, made)
        }
    }

    package func symlink(_ request: consuming FUSERequest, target: [UInt8], parent: UInt64, name: [UInt8]) {
        let (view, context) = (view, request.context)
        change(request) { () throws(VolumeError) in
            try view.makeLink(
                Filename(bytes: name), in: NodeID(rawValue: parent), target: target, uid: context.uid,
                gid: context.gid)
        } _: { [self] request, made in
            reply(request, made)
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
        let view = view
        change(request) { () throws(VolumeError) in
            try view.unlink(Filename(bytes: name), in: NodeID(rawValue: parent))
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func rmdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8]) {
        let view = view
        change(request) { () throws(VolumeError) in
            try view.removeFolder(Filename(bytes: name), in: NodeID(rawValue: parent))
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
        let view = view
        change(request) { () throws(VolumeError) in
            if flags == exchange {
                return try view.exchange(
                    Filename(bytes: name), in: NodeID(rawValue: parent), with: Filename(bytes: newName),
                    in: NodeID(rawValue: newParent))
            }
            return try view.rename(
                Filename(bytes: name), in: NodeID(rawValue: parent), to: Filename(bytes: newName),
                in: NodeID(rawValue: newParent), noReplace: flags & noReplace != 0)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }
}
