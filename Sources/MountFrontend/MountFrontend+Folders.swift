package import FUSE
import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Volume

extension MountFrontend {
    /// Where the provider tells of changes the kernel may keep listings: to ENOSYS (Linux 5.1,
    /// FUSE_NO_OPENDIR_SUPPORT) it opens and closes folders by itself from then on, until
    /// ``SessionLink/invalidateEntry(in:name:)`` says that one has changed. Elsewhere we must see who looks where.
    package func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32) {
        if volume.engine.followsChanges {
            request.reply(errno: ENOSYS)
            return
        }
        let volume = volume
        answer(request) { () throws(VolumeError) in
            try volume.openFolder(NodeID(rawValue: node))
        } _: { request, handle in
            if !request.reply(open: FUSEOpenReply(handle: handle.rawValue)) { volume.closeFolder(handle) }
        }
    }

    package func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        volume.closeFolder(HandleID(rawValue: handle))
        request.reply(errno: 0)
    }

    package func fsyncdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, dataOnly: Bool) {
        answerNow(request) { () throws(VolumeError) in
            try volume.synchronizeCatalog()
        } _: { request, _ in
            request.reply(errno: 0)
        }
    }

    package func readdir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int) {
        list(request, NodeID(rawValue: node), offset, size, plus: false)
    }

    package func readdirplus(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
    ) {
        list(request, NodeID(rawValue: node), offset, size, plus: true)
    }

    /// Offsets: 1 after ".", 2 after "..", then an entry's cookie plus 2.
    private func list(_ request: consuming FUSERequest, _ node: NodeID, _ offset: Int64, _ size: Int, plus: Bool) {
        // An entry takes at least this many bytes (fuse_direntplus, fuse_dirent).
        let limit = size / (plus ? 160 : 24) + 1
        let volume = volume
        answer(request) { () throws(VolumeError) -> Outcome<([FolderEntry], UInt64)> in
            if offset == 0, case .wait(let wait) = try volume.listed(node) { return .wait(wait) }
            let moment = volume.moment
            return .ready((try volume.entries(of: node, after: max(0, offset - 2), limit: limit), moment))
        } _: { [self] request, found in
            reply(request, found.0, asOf: found.1, node, offset, size, plus)
        }
    }

    private func reply(
        _ request: consuming FUSERequest, _ entries: [FolderEntry], asOf moment: UInt64, _ node: NodeID,
        _ offset: Int64, _ size: Int, _ plus: Bool
    ) {
        var buffer = request.newDirectoryBuffer(size: size, plus: plus)
        var referenced: [NodeID] = []
        do {
            let fits = try addDots(&buffer, node, offset, plus)
            for entry in fits ? entries : [] {
                let next = entry.cookie + 2
                if plus {
                    let lookup = volume.reference(entry.inode, asOf: moment)
                    guard buffer.add(name: entry.name.bytes, entry: lookup.entry, nextOffset: next) else {
                        volume.forget(lookup.node, count: 1)
                        break
                    }
                    referenced.append(lookup.node)
                } else if !buffer.add(
                    name: entry.name.bytes, inode: UInt64(entry.inode.id.rawValue),
                    type: entry.inode.kind.fileType, nextOffset: next)
                {
                    break
                }
            }
            if !request.reply(directory: buffer) {
                for node in referenced { volume.forget(node, count: 1) }
            }
        } catch {
            for node in referenced { volume.forget(node, count: 1) }
            request.reply(errno: VolumeError(error).errno)
        }
    }

    /// "." and "..", which the kernel takes no references for.
    private func addDots(_ buffer: inout FUSEDirectoryBuffer, _ node: NodeID, _ offset: Int64, _ plus: Bool)
        throws(VolumeError) -> Bool
    {
        guard offset < 2 else { return true }
        let own = try volume.attributes(of: node).record.id
        let above = try volume.parent(of: node)
        for (position, name, inode) in [(Int64(0), ".", own), (1, "..", above)] where position >= offset {
            var status = stat()
            status.st_ino = UInt(inode.rawValue)
            status.st_mode = S_IFDIR
            let entry = FUSEEntry(node: 0, attributes: status, attributeTimeout: 0, entryTimeout: 0)
            let bytes = Array(name.utf8)
            let added =
                plus
                ? buffer.add(name: bytes, entry: entry, nextOffset: position + 1)
                : buffer.add(name: bytes, inode: UInt64(inode.rawValue), type: S_IFDIR, nextOffset: position + 1)
            if !added { return false }
        }
        return true
    }
}
