package import FUSE
import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Trees
import Volume

extension MountFrontend {
    /// If the provider reports changes, the kernel may cache listings: after ENOSYS (Linux 5.1,
    /// FUSE_NO_OPENDIR_SUPPORT) it opens and closes folders itself, until ``SessionLink/invalidateEntry(in:name:)``
    /// reports a change. Otherwise we must see which program looks where; the kernel caches each listing all the same.
    package func opendir(_ request: consuming FUSERequest, node: UInt64, flags: Int32) {
        if isCached && volume.engine.followsChanges {
            request.reply(errno: ENOSYS)
            return
        }
        let (view, thread) = (view, request.context.pid)
        answer(request) { () throws(VolumeError) in
            try view.openFolder(NodeID(rawValue: node), thread: thread)
        } _: { [isCached] request, handle in
            let reply = FUSEOpenReply(handle: handle.rawValue, keepCache: isCached, cacheDirectory: isCached)
            if !request.reply(open: reply) { view.closeFolder(handle) }
        }
    }

    package func releasedir(_ request: consuming FUSERequest, node: UInt64, handle: UInt64) {
        view.closeFolder(HandleID(rawValue: handle))
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
        list(request, NodeID(rawValue: node), offset, size, .names)
    }

    package func readdirplus(
        _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
    ) {
        list(request, NodeID(rawValue: node), offset, size, isCached ? .entries : .bareEntries)
    }

    private enum Listing {
        case names
        /// With look-ups.
        case entries
        /// In the format of entries, but with names only: takes no references.
        case bareEntries
    }

    /// Offsets: 1 after ".", 2 after "..", then an entry's cookie plus 2.
    private func list(
        _ request: consuming FUSERequest, _ node: NodeID, _ offset: Int64, _ size: Int, _ listing: Listing
    ) {
        // The smallest size of an entry (fuse_direntplus, fuse_dirent).
        let limit = size / (listing == .names ? 24 : 160) + 1
        let (view, thread) = (view, request.context.pid)
        answer(request) { () throws(VolumeError) -> Outcome<([FolderEntry], UInt64)> in
            if offset == 0, case .wait(let wait) = try view.listed(node, thread: thread) { return .wait(wait) }
            let moment = view.volume.moment
            return .ready((try view.entries(of: node, after: max(0, offset - 2), limit: limit), moment))
        } _: { [self] request, found in
            reply(request, found.0, asOf: found.1, node, offset, size, listing)
        }
    }

    private func reply(
        _ request: consuming FUSERequest, _ entries: [FolderEntry], asOf moment: UInt64, _ node: NodeID,
        _ offset: Int64, _ size: Int, _ listing: Listing
    ) {
        let plus = listing != .names
        var buffer = request.newDirectoryBuffer(size: size, plus: plus)
        var referenced: [NodeID] = []
        do {
            let fits = try addDots(&buffer, node, offset, plus)
            for entry in fits ? entries : [] {
                let next = entry.cookie + 2
                if listing == .entries {
                    let lookup = volume.reference(entry.inode, asOf: moment)
                    guard buffer.add(name: entry.name.bytes, entry: lookup.entry(isCached: isCached), nextOffset: next)
                    else {
                        volume.forget(lookup.node, count: 1)
                        break
                    }
                    referenced.append(lookup.node)
                } else if !buffer.add(
                    bare: entry.name.bytes, inode: UInt64(entry.inode.id.rawValue),
                    type: entry.inode.kind.fileType, nextOffset: next, plus: plus)
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

    /// "." and "..", for which the kernel takes no references.
    private func addDots(_ buffer: inout FUSEDirectoryBuffer, _ node: NodeID, _ offset: Int64, _ plus: Bool)
        throws(VolumeError) -> Bool
    {
        guard offset < 2 else { return true }
        let own = try view.attributes(of: node).record.id
        let above = try view.parent(of: node)
        for (position, name, inode) in [(Int64(0), ".", own), (1, "..", above)] where position >= offset {
            let added = buffer.add(
                bare: Array(name.utf8), inode: UInt64(inode.rawValue), type: S_IFDIR, nextOffset: position + 1,
                plus: plus)
            if !added { return false }
        }
        return true
    }
}

extension FUSEDirectoryBuffer {
    /// A name, for which the kernel takes no reference; also in a reply to readdirplus (node 0: fuse_direntplus_link).
    mutating func add(bare name: [UInt8], inode: UInt64, type: UInt32, nextOffset: Int64, plus: Bool) -> Bool {
        guard plus else { return add(name: name, inode: inode, type: type, nextOffset: nextOffset) }
        var status = stat()
        status.st_ino = UInt(inode)
        status.st_mode = type
        let entry = FUSEEntry(node: 0, attributes: status, attributeTimeout: 0, entryTimeout: 0)
        return add(name: name, entry: entry, nextOffset: nextOffset)
    }
}
