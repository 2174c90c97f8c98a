package import FUSE
import Glibc
import ItemCatalog
import Trees
import Volume

extension MountFrontend {
    package func setxattr(
        _ request: consuming FUSERequest, node: UInt64, name: [UInt8], value: UnsafeRawBufferPointer, flags: Int32
    ) {
        // setxattr(2)
        let (create, replace): (Int32, Int32) = (1, 2)
        let presence: AttributePresence
        switch flags {
        case 0: presence = .any
        case create: presence = .mustBeNew
        case replace: presence = .mustExist
        default:
            request.reply(errno: EINVAL)
            return
        }
        answerNow(request) { () throws(VolumeError) in
            try view.setExtendedAttribute(
                name, to: Array(value), of: NodeID(rawValue: node), presence: presence)
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func getxattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8], size: Int) {
        answerNow(request) { () throws(VolumeError) in
            try view.extendedAttribute(name, of: NodeID(rawValue: node))
        } _: { request, value in
            request.reply(xattr: value, size: size)
        }
    }

    package func listxattr(_ request: consuming FUSERequest, node: UInt64, size: Int) {
        let isSuperuser = request.context.uid == 0
        answerNow(request) { () throws(VolumeError) in
            try view.extendedAttributeNames(of: NodeID(rawValue: node), isSuperuser: isSuperuser)
        } _: { request, names in
            request.reply(xattr: names, size: size)
        }
    }

    package func removexattr(_ request: consuming FUSERequest, node: UInt64, name: [UInt8]) {
        answerNow(request) { () throws(VolumeError) in
            try view.removeExtendedAttribute(name, of: NodeID(rawValue: node))
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }
}
