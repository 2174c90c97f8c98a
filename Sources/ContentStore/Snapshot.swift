import CLinux
import Glibc
import Synchronization

/// The bytes of a generation at one moment, for an upload: a small document's in memory; an unnamed copy, which ends with
/// this object, or with the daemon, however that ends, and which may be made during the upload; or the generation's own
/// file as long as it does not change.
package final class Snapshot: Sendable {
    private enum Source {
        case bytes([UInt8])
        case copy(Int32)
        case original(ContentFile, ContentStat)
        case growing(GrowingCopy)
    }
    private let source: Source
    /// In bytes.
    package let size: Int64
    /// The path of the source, for messages.
    private let path: String
    private let changed = Atomic(false)

    init(descriptor: Int32, size: Int64, path: String) {
        source = .copy(descriptor)
        self.size = size
        self.path = path
    }

    init(of file: ContentFile, in state: ContentStat) {
        source = .original(file, state)
        size = state.size
        path = file.path
    }

    init(_ copy: GrowingCopy) {
        source = .growing(copy)
        size = copy.size
        path = copy.path
    }

    init(_ bytes: [UInt8], path: String) {
        source = .bytes(bytes)
        size = Int64(bytes.count)
        self.path = path
    }

    deinit { if case .copy(let descriptor) = source { close(descriptor) } }

    /// The copy's or the original's file; nil: it is in memory.
    package var descriptor: Int32? {
        switch source {
        case .bytes: nil
        case .copy(let descriptor): descriptor
        case .original(let file, _): file.descriptor
        case .growing(let copy): copy.readable
        }
    }

    /// Whether ``complete()`` must be called, during the upload.
    package var isGrowing: Bool { if case .growing = source { true } else { false } }

    /// Makes the copy of a growing snapshot. Bytes that were read before are of one moment only if this does not throw.
    ///
    /// - Throws: ``ContentError/Code/changed`` when the file has changed since the snapshot began.
    package func complete() throws(ContentError) { if case .growing(let copy) = source { try copy.complete() } }

    /// Whether it is the generation's own file.
    package var isOriginal: Bool { if case .original = source { true } else { false } }

    /// Whether the generation's own file has changed: bytes read before are invalid, and no more are read.
    package var hasChanged: Bool { changed.load(ordering: .relaxed) }

    /// It is known from elsewhere that the generation has changed while it was read.
    package func markChanged() { changed.store(true, ordering: .relaxed) }

    /// pread(2) up to `count` bytes; fewer only at the end.
    ///
    /// - Throws: ``ContentError/Code/changed`` when the file has changed since the snapshot.
    package func read(at offset: Int64, upTo count: Int) throws(ContentError) -> [UInt8] {
        let count = Int(min(Int64(count), max(0, size - offset)))
        let bytes: [UInt8]
        switch source {
        case .bytes(let all): return count == all.count ? all : Array(all[Int(min(offset, size))...].prefix(count))
        case .copy(let descriptor): bytes = try Self.read(descriptor, at: offset, count, path)
        case .growing(let copy):
            do throws(ContentError) {
                bytes = try copy.read { (descriptor) throws(ContentError) in
                    try Self.read(descriptor, at: offset, count, path)
                }
            } catch {
                if error.code == .changed { markChanged() }
                throw error
            }
        case .original(let file, let state):
            bytes = try Self.read(file.descriptor, at: offset, count, path)
            // After the read: only then is it known that the bytes had not changed.
            let now = try file.status()
            if hasChanged || !state.isSame(as: now) {
                markChanged()
                throw ContentError(code: .changed, message: "\(path): changed during the upload")
            }
        }
        return bytes
    }

    fileprivate static func read(
        _ descriptor: Int32, at offset: Int64, _ count: Int, _ path: String
    ) throws(ContentError) -> [UInt8] {
        var failure: ContentError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                let step = pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset) + done)
                if step < 0 && errno == EINTR { continue }
                if step < 0 { failure = .last(path) }
                if step <= 0 { break }
                done += step
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension ContentStat {
    /// Whether the file was not written between the two. (The number of blocks may change.)
    func isSame(as other: ContentStat) -> Bool {
        size == other.size && modified == other.modified && changed == other.changed
    }

    /// In nanoseconds. The clock of time stamps stands still for up to 10 ms (CONFIG_HZ): two writes within that get
    /// the same one.
    private static let tick: Int64 = 20_000_000

    /// Whether the next change would change the time stamps. (With a stamp in the future, after the clock was set back,
    /// any change does.)
    fileprivate var showsNextChange: Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return !(0..<Self.tick).contains(now.nanoseconds - changed)
    }
}

extension ContentStore {
    /// Copies a generation's bytes (as a reflink where the file system can).
    ///
    /// An fdatasync(2) before the copy write-protects mapped pages, so that a store through a mapping changes the time
    /// stamps, which are compared afterwards.
    ///
    /// - Throws: ``ContentError/Code/changed`` when the file was written meanwhile.
    package func snapshot(of content: ContentFile) throws(ContentError) -> Snapshot {
        let path = "\(directory)/uploads/\(content.id)"
        let (descriptor, size) = try copy(content, path) { () throws(ContentError) in try nameless(path) }
        return Snapshot(descriptor: descriptor, size: size, path: path)
    }

    /// In bytes: documents of this size are sent from memory. A file for each would take ext4 longer and longer: it
    /// looks at all inodes that were freed in the last seconds before it takes another one.
    private static let small: Int64 = 64 << 10

    /// The bytes of a small document, in memory; nil: it is not small.
    ///
    /// - Throws: as ``snapshot(of:)``.
    package func smallSnapshot(of content: ContentFile) throws(ContentError) -> Snapshot? {
        guard try content.status().size <= Self.small else { return nil }
        let before = try synchronized(content)
        guard before.size <= Self.small else { return nil }
        let bytes = try Snapshot.read(content.descriptor, at: 0, Int(before.size), content.path)
        guard try content.status() == before, bytes.count == before.size else {
            throw ContentError(code: .changed, message: "\(content.path): changed during the copy")
        }
        return Snapshot(bytes, path: content.path)
    }

    /// A copy that is made while it is sent (``Snapshot/complete()``); nil: somebody may have a mapping to the file, whose
    /// stores would not show in the time stamps before the file is synced; or it was changed a moment ago.
    package func growingSnapshot(of content: ContentFile) throws(ContentError) -> Snapshot? {
        // The state first: what a mapping that comes in between stores later may not show in the time stamps.
        let state = try content.status()
        guard state.showsNextChange, !isWritable(content.id) else { return nil }
        let path = "\(directory)/uploads/\(content.id)"
        return Snapshot(GrowingCopy(of: content, state, into: try nameless(path), path: path))
    }

    /// The generation's own file, as long as it does not change.
    ///
    /// - Throws: ``ContentError/Code/changed`` when it was written a moment ago.
    package func original(of content: ContentFile) throws(ContentError) -> Snapshot {
        let state = try synchronized(content)
        guard state.showsNextChange else {
            throw ContentError(code: .changed, message: "\(content.path): changed just now")
        }
        return Snapshot(of: content, in: state)
    }

    /// A reflink, which takes no space and no time; nil where the file system has none.
    package func clone(of content: ContentFile) throws(ContentError) -> Snapshot? {
        guard makesClones.load(ordering: .relaxed) else { return nil }
        let before = try synchronized(content)
        let path = "\(directory)/uploads/\(content.id)"
        let descriptor = try nameless(path)
        let snapshot = Snapshot(descriptor: descriptor, size: before.size, path: path)
        guard SparseCopy.clone(content.descriptor, to: descriptor) else {
            makesClones.store(false, ordering: .relaxed)
            return nil
        }
        guard try before.isSame(as: content.status()) else {
            throw ContentError(code: .changed, message: "\(path): changed during the copy")
        }
        return snapshot
    }

    /// The same as a named file for programs, readable by its owner only.
    ///
    /// - Throws: as ``snapshot(of:)``; then there is no file.
    package func snapshot(of content: ContentFile, at path: String) throws(ContentError) {
        do {
            let (descriptor, _) = try copy(content, path) { () throws(ContentError) in
                let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o400)
                guard descriptor >= 0 else { throw .last(path) }
                return descriptor
            }
            close(descriptor)
        } catch {
            Glibc.unlink(path)
            throw error
        }
    }

    /// The present status of the file, which any later change alters.
    private func synchronized(_ content: ContentFile) throws(ContentError) -> ContentStat {
        try content.synchronize()
        return try content.status()
    }

    /// - Returns: the copy, open, and its size.
    private func copy(
        _ content: ContentFile, _ path: String, to make: () throws(ContentError) -> Int32
    ) throws(ContentError) -> (descriptor: Int32, size: Int64) {
        let before = try synchronized(content)
        let descriptor = try make()
        do throws(ContentError) {
            try SparseCopy.run(from: content.descriptor, to: descriptor, size: before.size, path: path)
            guard try content.status() == before else {
                throw ContentError(code: .changed, message: "\(path): changed during the copy")
            }
        } catch {
            close(descriptor)
            throw error
        }
        return (descriptor, before.size)
    }

    /// A new file without a name.
    private func nameless(_ path: String) throws(ContentError) -> Int32 {
        while true {
            Glibc.unlink(path)
            let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            // Another copy of the same generation has the name for a moment.
            if descriptor < 0 && errno == EEXIST { continue }
            guard descriptor >= 0 else { throw .last(path) }
            Glibc.unlink(path)
            return descriptor
        }
    }
}
