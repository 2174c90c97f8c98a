import FileProvider
import Foundation
import SyncEngine
import Synchronization
import Trees
package import Volume

/// A ``Volume`` in this process, called as by the kernel: look up, call, forget. The volume must also answer cases that
/// the kernel itself handles (a folder renamed into itself, a type that does not fit).
package struct VolumeFileSystem: FileSystemUnderTest {
    private let volume: Volume
    private let backing: FakeBacking

    package init(volume: Volume, backing: FakeBacking) {
        self.volume = volume
        self.backing = backing
    }

    // MARK: Waiting

    /// Repeats a call until it is ready, like the front end.
    private func result<T>(_ call: String, _ body: () throws(VolumeError) -> Outcome<T>) throws(FSError) -> T {
        do throws(VolumeError) {
            while true {
                switch try body() {
                case .ready(let value): return value
                case .wait(let wait): try Self.run(wait)
                }
            }
        } catch {
            throw FSError(error.errno, "\(call) (\(error.message))")
        }
    }

    private func now<T>(_ call: String, _ body: () throws(VolumeError) -> T) throws(FSError) -> T {
        do { return try body() } catch { throw FSError(error.errno, "\(call) (\(error.message))") }
    }

    /// Waits on this thread, which is not one of the cooperative pool.
    private static func run(_ wait: Wait) throws(VolumeError) {
        let done = DispatchSemaphore(value: 0)
        let failure = Mutex<VolumeError?>(nil)
        Task {
            do { try await wait.run() } catch { failure.withLock { $0 = VolumeError(error) } }
            done.signal()
        }
        done.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    // MARK: Paths

    /// Calls `body` with the node of a path, and gives its references back afterwards.
    private func at<T>(_ path: FSPath, _ body: (NodeID) throws(FSError) -> T) throws(FSError) -> T {
        var references: [NodeID] = []
        defer { for node in references { volume.forget(node, count: 1) } }
        var node = NodeID.root
        for name in path.names {
            guard
                let found = try result(
                    "lookup \(path)",
                    { () throws(VolumeError) in
                        try volume.lookUp(Filename(bytes: name), in: node)
                    })
            else { throw FSError(ENOENT, "lookup \(path)") }
            references.append(found.node)
            node = found.node
        }
        return try body(node)
    }

    private func inFolder<T>(_ path: FSPath, _ body: (NodeID, Filename) throws(FSError) -> T) throws(FSError) -> T {
        guard let last = path.names.last else { throw FSError(EINVAL, "the root has no name") }
        return try at(path.parent) { node throws(FSError) in try body(node, Filename(bytes: last)) }
    }

    /// The node of a path, with a reference that is never given back; nil: not found.
    package func found(_ path: FSPath) throws(FSError) -> NodeID? {
        do throws(FSError) {
            return try inFolder(path) { folder, name throws(FSError) in
                try result("lookup \(path)") { () throws(VolumeError) in try volume.lookUp(name, in: folder) }?.node
            }
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
    }

    // MARK: Calls

    package func list(_ folder: FSPath) throws(FSError) -> [[UInt8]] {
        try at(folder) { node throws(FSError) in
            let handle = try result("opendir \(folder)") { () throws(VolumeError) in try volume.openFolder(node) }
            defer { volume.closeFolder(handle) }
            var names: [[UInt8]] = []
            var cookie: Int64 = 0
            while true {
                let entries = try now("readdir") { () throws(VolumeError) in
                    try volume.entries(of: node, after: cookie, limit: 100)
                }
                guard let last = entries.last else { return names }
                names += entries.map(\.name.bytes)
                cookie = last.cookie
            }
        }
    }

    package func stat(_ path: FSPath) throws(FSError) -> FSStat {
        try at(path) { node throws(FSError) in
            let found = try now("getattr \(path)") { () throws(VolumeError) in try volume.attributes(of: node) }
            let kind: FSStat.Kind =
                switch found.record.kind {
                case .document: .document
                case .folder: .folder
                case .link: .link
                default: .special
                }
            return FSStat(
                inode: UInt64(found.record.id.rawValue), kind: kind, mode: found.mode,
                links: UInt64(found.record.linkCount), size: found.record.size, blocks: found.blocks,
                modified: found.record.modified.nanoseconds)
        }
    }

    package func read(_ path: FSPath, at offset: Int64, _ count: Int) throws(FSError) -> [UInt8] {
        try at(path) { node throws(FSError) in
            let opened = try now("open \(path)") { () throws(VolumeError) in try volume.open(node, flags: O_RDONLY) }
            defer { volume.close(opened.handle) }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
            defer { buffer.deallocate() }
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            if case .passthrough(let id) = opened.mode { return try backing.read(id, wanted, at: offset) }
            // As the kernel does: never beyond the size that stat shows.
            let size = try now("getattr") { () throws(VolumeError) in try volume.attributes(of: node).record.size }
            let end = max(0, min(Int64(count), size - offset))
            let part = UnsafeMutableRawBufferPointer(rebasing: wanted[..<Int(end)])
            if part.isEmpty { return [] }
            let number = try result("read \(path)") { () throws(VolumeError) in
                try volume.read(opened.handle, into: part, at: offset)
            }
            return Array(part[..<number])
        }
    }

    package func write(_ path: FSPath, _ bytes: [UInt8], at offset: Int64?, flags: Int32) throws(FSError) {
        var opened: Opened?
        var node: NodeID?
        defer { if let node { volume.forget(node, count: 1) } }
        do {
            (node, opened) = try openExisting(path, flags)
        } catch {
            guard error.errno == ENOENT, flags & O_CREAT != 0 else { throw error }
            let made = try inFolder(path) { folder, name throws(FSError) in
                try result("create \(path)") { () throws(VolumeError) in
                    try volume.create(name, in: folder, mode: 0o644, uid: geteuid(), gid: getegid())
                }
            }
            (node, opened) = (made.0.node, made.1)
        }
        guard let opened, let node else { return }
        defer { volume.close(opened.handle) }
        let size = try now("getattr") { () throws(VolumeError) in try volume.attributes(of: node).record.size }
        let start = offset ?? size
        if !bytes.isEmpty {
            if case .passthrough(let id) = opened.mode {
                try backing.write(id, bytes, at: start)
            } else {
                try now("write \(path)") { () throws(VolumeError) in
                    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
                    defer { buffer.deallocate() }
                    buffer.copyBytes(from: bytes)
                    try volume.write(opened.handle, UnsafeRawBufferPointer(buffer), at: start)
                }
            }
        }
        try now("flush \(path)") { () throws(VolumeError) in try volume.flush(opened.handle) }
    }

    /// Keeps the reference on the node.
    private func openExisting(_ path: FSPath, _ flags: Int32) throws(FSError) -> (NodeID, Opened) {
        try inFolder(path) { folder, name throws(FSError) in
            guard
                let found = try result(
                    "lookup \(path)",
                    { () throws(VolumeError) in
                        try volume.lookUp(name, in: folder)
                    })
            else { throw FSError(ENOENT, "lookup \(path)") }
            do throws(FSError) {
                if flags & O_EXCL != 0 { throw FSError(EEXIST, "open \(path)") }
                return (
                    found.node,
                    try now("open \(path)") { () throws(VolumeError) in
                        try volume.open(found.node, flags: O_WRONLY | (flags & O_TRUNC))
                    }
                )
            } catch {
                volume.forget(found.node, count: 1)
                throw error
            }
        }
    }

    package func synchronize(_ path: FSPath) throws(FSError) {
        try at(path) { node throws(FSError) in
            let opened = try now("open \(path)") { () throws(VolumeError) in try volume.open(node, flags: O_WRONLY) }
            defer { volume.close(opened.handle) }
            try now("fsync \(path)") { () throws(VolumeError) in try volume.synchronize(opened.handle) }
        }
    }

    private func set(_ path: FSPath, _ change: AttributeChange, size: Int64? = nil) throws(FSError) {
        try at(path) { node throws(FSError) in
            _ = try now("setattr \(path)") { () throws(VolumeError) in
                try volume.setAttributes(node, to: AttributeRequest(attributes: change, size: size))
            }
        }
    }

    package func truncate(_ path: FSPath, to size: Int64) throws(FSError) {
        try set(path, AttributeChange(), size: size)
    }
    package func chmod(_ path: FSPath, _ mode: UInt32) throws(FSError) { try set(path, AttributeChange(mode: mode)) }
    package func setModified(_ path: FSPath, _ nanoseconds: Int64) throws(FSError) {
        try set(path, AttributeChange(modified: FileTime(nanoseconds: nanoseconds)))
    }

    package func rename(_ path: FSPath, to newPath: FSPath, noReplace: Bool) throws(FSError) {
        try inFolder(path) { folder, name throws(FSError) in
            try inFolder(newPath) { newFolder, newName throws(FSError) in
                try result("rename \(path) to \(newPath)") { () throws(VolumeError) in
                    try volume.rename(name, in: folder, to: newName, in: newFolder, noReplace: noReplace)
                }
            }
        }
    }

    package func unlink(_ path: FSPath) throws(FSError) {
        try inFolder(path) { folder, name throws(FSError) in
            try result("unlink \(path)") { () throws(VolumeError) in try volume.unlink(name, in: folder) }
        }
    }

    package func mkdir(_ path: FSPath, _ mode: UInt32) throws(FSError) {
        try inFolder(path) { folder, name throws(FSError) in
            let made = try result("mkdir \(path)") { () throws(VolumeError) in
                try volume.makeFolder(name, in: folder, mode: mode, uid: geteuid(), gid: getegid())
            }
            volume.forget(made.node, count: 1)
        }
    }

    package func rmdir(_ path: FSPath) throws(FSError) {
        try inFolder(path) { folder, name throws(FSError) in
            try result("rmdir \(path)") { () throws(VolumeError) in try volume.removeFolder(name, in: folder) }
        }
    }

    package func symlink(_ path: FSPath, to target: [UInt8]) throws(FSError) {
        try inFolder(path) { folder, name throws(FSError) in
            let made = try result("symlink \(path)") { () throws(VolumeError) in
                try volume.makeLink(name, in: folder, target: target, uid: geteuid(), gid: getegid())
            }
            volume.forget(made.node, count: 1)
        }
    }

    package func readlink(_ path: FSPath) throws(FSError) -> [UInt8] {
        try at(path) { node throws(FSError) in
            try now("readlink \(path)") { () throws(VolumeError) in try volume.readLink(node) }
        }
    }

    package func hardLink(_ path: FSPath, to newPath: FSPath) throws(FSError) {
        try at(path) { node throws(FSError) in
            try inFolder(newPath) { folder, name throws(FSError) in
                let made = try result("link \(path)") { () throws(VolumeError) in
                    try volume.link(node, to: name, in: folder)
                }
                volume.forget(made.node, count: 1)
            }
        }
    }

    package func setAttribute(_ name: String, to value: [UInt8], of path: FSPath) throws(FSError) {
        try at(path) { node throws(FSError) in
            try now("setxattr \(path)") { () throws(VolumeError) in
                try volume.setExtendedAttribute(Array(name.utf8), to: value, of: node, presence: .any)
            }
        }
    }

    package func limits() throws(FSError) -> (longestName: Int, blocks: UInt64) {
        let statistics = try now("statfs") { () throws(VolumeError) in try volume.statistics() }
        return (Int(statistics.f_namemax), UInt64(statistics.f_blocks))
    }
}
