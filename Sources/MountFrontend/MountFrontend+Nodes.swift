package import FUSE
import FileProvider
import Volume

extension MountFrontend {
    package func mknod(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64
    ) {
        let (volume, context) = (volume, request.context)
        answer(request) { () throws(VolumeError) in
            try volume.makeNode(
                Filename(bytes: name), in: NodeID(rawValue: parent), mode: mode, device: rdev, uid: context.uid,
                gid: context.gid)
        } _: { request, made in
            if !request.reply(entry: made.entry) { volume.forget(made.node, count: 1) }
        }
    }

    package func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8]) {
        let volume = volume
        answer(request) { () throws(VolumeError) in
            try volume.link(
                NodeID(rawValue: node), to: Filename(bytes: newName), in: NodeID(rawValue: newParent))
        } _: { request, linked in
            if !request.reply(entry: linked.entry) { volume.forget(linked.node, count: 1) }
        }
    }
}
