package import FUSE
import FileProvider
import Volume

extension MountFrontend {
    package func mknod(
        _ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32, rdev: UInt64
    ) {
        let (view, context) = (view, request.context)
        change(request) { () throws(VolumeError) in
            try view.makeNode(
                Filename(bytes: name), in: NodeID(rawValue: parent), mode: mode, device: rdev, uid: context.uid,
                gid: context.gid)
        } _: { [self] request, made in
            reply(request, made)
        }
    }

    package func link(_ request: consuming FUSERequest, node: UInt64, newParent: UInt64, newName: [UInt8]) {
        let view = view
        change(request) { () throws(VolumeError) in
            try view.link(
                NodeID(rawValue: node), to: Filename(bytes: newName), in: NodeID(rawValue: newParent))
        } _: { [self] request, linked in
            reply(request, linked)
        }
    }
}
