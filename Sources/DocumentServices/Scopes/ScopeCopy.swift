import FileProvider
import Glibc
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Copies a document's bytes to a new file beside it, completely or not at all.
struct ScopeCopy {
    private let volume: Volume

    init(_ volume: Volume) { self.volume = volume }

    /// - Parameter record: a fully downloaded document.
    func make(_ record: InodeRecord, at name: Filename, in folder: NodeID) throws {
        let source = volume.reference(record).node
        defer { volume.forget(source, count: 1) }
        let from = try volume.open(source, flags: O_RDONLY).handle
        defer { volume.close(from) }
        let (made, opened) = try Self.now(
            volume.create(name, in: folder, mode: record.mode & 0o777, uid: record.uid, gid: record.gid))
        do {
            try copy(from, to: opened.handle)
            volume.close(opened.handle)
            volume.forget(made.node, count: 1)
        } catch {
            volume.close(opened.handle)
            volume.forget(made.node, count: 1)
            _ = try? volume.unlink(name, in: folder)
            throw error
        }
    }

    private func copy(_ from: HandleID, to target: HandleID) throws {
        var offset: Int64 = 0
        while true {
            let count = try Self.now(volume.copy(from: from, at: offset, to: target, at: offset, count: 1 << 26))
            if count == 0 { return }
            offset += Int64(count)
        }
    }

    /// Unwraps an outcome that should need no wait; throws if it needs one.
    static func now<T>(_ outcome: Outcome<T>) throws(VolumeError) -> T {
        guard case .ready(let value) = outcome else {
            throw VolumeError(EBUSY, "not all of it is on this machine yet")
        }
        return value
    }
}
