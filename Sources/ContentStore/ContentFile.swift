import CLinux
import Glibc
import Locking

/// The bytes of one generation: a sparse file, and the ranges of the provider's bytes in it.
///
/// All openers of the generation share one instance. Any thread may call any method; none waits for the network. The
/// lock covers the present ranges, and is held while a download's bytes are written, so that a download never
/// overwrites a program's bytes.
package final class ContentFile: Sendable {
    private let name: AdaptiveMutex<GenerationID>
    /// Open for reading and writing; valid for the life of this object.
    package let descriptor: Int32
    let path: String

    struct Presence {
        /// Bytes from this offset on never come from the provider.
        var baseSize: Int64
        /// Present below `baseSize`; nil: all.
        var ranges: RangeSet<Int64>?
        /// The recorded part of those (``noteRecorded(_:)``); nil: all.
        var recorded: RangeSet<Int64>?
        /// Those that programs have written since the file was opened, as long as not all bytes are here.
        var written = RangeSet<Int64>()
    }
    let presence: AdaptiveMutex<Presence>

    init(id: GenerationID, descriptor: Int32, path: String, baseSize: Int64, present: RangeSet<Int64>?) {
        self.name = AdaptiveMutex(id)
        self.descriptor = descriptor
        self.path = path
        var presence = Presence(baseSize: baseSize, ranges: present, recorded: present)
        presence.truncate(to: baseSize)
        self.presence = AdaptiveMutex(presence)
    }

    deinit { close(descriptor) }

    package var id: GenerationID { name.withLock { $0 } }

    /// The store has renamed the file.
    func rename(to id: GenerationID) { name.withLock { $0 = id } }

    // MARK: Present bytes

    /// Whether all of the provider's bytes are here.
    package var isComplete: Bool { presence.withLock { $0.ranges == nil } }

    package var baseSize: Int64 { presence.withLock { $0.baseSize } }

    /// The present ranges below the base size; nil: all of it.
    package var present: RangeSet<Int64>? { presence.withLock { $0.ranges } }

    /// The number of the provider's bytes that are here.
    package var bytesPresent: Int64 {
        presence.withLock { state in
            state.ranges.map { $0.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } } ?? state.baseSize
        }
    }

    /// Whether the catalog knows all present bytes: it would take others for missing after a crash.
    package var isRecorded: Bool { presence.withLock { $0.recorded == $0.ranges } }

    /// The catalog knows these ranges (nil: all) from now on, besides those that it knew.
    package func noteRecorded(_ extents: RangeSet<Int64>?) {
        presence.withLock { state in
            guard let known = state.recorded else { return }
            guard let extents else { return state.recorded = nil }
            state.recorded = known.union(extents).intersection(RangeSet(0..<state.baseSize))
            state.settleRecorded()
        }
    }

    /// The parts of `range` that must be downloaded first, in order.
    package func missing(in range: Range<Int64>) -> [Range<Int64>] {
        presence.withLock { state in
            guard let ranges = state.ranges else { return [] }
            let wanted = range.clamped(to: 0..<state.baseSize)
            if wanted.isEmpty { return [] }
            var missing = RangeSet(wanted)
            missing.subtract(ranges)
            return Array(missing.ranges)
        }
    }

    // MARK: Bytes from the provider

    /// Writes downloaded bytes, except over present ones (above all a program's). Blocks of zeros stay holes: a sparse
    /// document takes no more space here than in its store.
    ///
    /// The file keeps its modification time: by that, the next daemon sees whether a program wrote after its fsync(2).
    package func store(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(ContentError) {
        let failure: ContentError? = presence.withLock { state -> ContentError? in
            guard let ranges = state.ranges else { return nil }
            let whole = (offset..<offset + Int64(bytes.count)).clamped(to: 0..<state.baseSize)
            if whole.isEmpty { return nil }
            var missing = RangeSet(whole)
            missing.subtract(ranges)
            if missing.isEmpty { return nil }
            let modified: Int64
            do throws(ContentError) { modified = try self.status().modified } catch { return error }
            defer { try? self.date(modified) }
            for range in missing.ranges {
                let piece = UnsafeRawBufferPointer(
                    rebasing: bytes[Int(range.lowerBound - offset)..<Int(range.upperBound - offset)])
                if let failure = self.writeSparsely(piece, at: range.lowerBound) { return failure }
            }
            state.add(whole)
            return nil
        }
        if let failure { throw failure }
    }

    /// Makes bytes missing again that the provider has sent since this file was opened, but not those that a program has
    /// written since. The catalog must forget them too.
    ///
    /// - Returns: what is missing now; nil: nothing was forgotten, because all bytes are here (a program may change them
    ///   without this object) or none of these.
    package func forget(_ range: Range<Int64>) -> RangeSet<Int64>? {
        presence.withLock { state in
            guard let ranges = state.ranges else { return nil }
            let gone = RangeSet(range).intersection(ranges).subtracting(state.written)
            guard !gone.isEmpty else { return nil }
            state.ranges = ranges.subtracting(gone)
            state.recorded?.subtract(gone)
            return gone
        }
    }

    // MARK: Bytes from programs

    /// pwrite(2) of a program's bytes.
    ///
    /// - Returns: whether bytes are here now that the catalog does not know (it must know them before the writer gets
    ///   its answer, or a download after a crash would overwrite them).
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(ContentError) -> Bool {
        var extended = false
        let failure: ContentError? = presence.withLock { state -> ContentError? in
            if let failure = self.writeAll(bytes, at: offset) { return failure }
            extended = state.fill(offset..<offset + Int64(bytes.count))
            return nil
        }
        if let failure { throw failure }
        return extended
    }

    /// The base size and the present ranges after a truncation to `size`.
    package func presence(truncatedTo size: Int64) -> (baseSize: Int64, present: RangeSet<Int64>?) {
        presence.withLock { state in
            var after = state
            after.truncate(to: size)
            return (after.baseSize, after.ranges)
        }
    }

    /// ftruncate(2). Bytes that are cut off never come from the provider again.
    package func truncate(to size: Int64) throws(ContentError) {
        let failure: ContentError? = presence.withLock { state -> ContentError? in
            guard ftruncate(self.descriptor, off_t(size)) == 0 else { return ContentError.last(self.path) }
            state.truncate(to: size)
            return nil
        }
        if let failure { throw failure }
    }

    /// pread(2); 0 at the end. The caller ensures that the bytes are here.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ContentError) -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + done)
            if count < 0 {
                if errno == EINTR { continue }
                throw .last(path)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    // MARK: The file itself

    package func status() throws(ContentError) -> ContentStat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last(path) }
        return ContentStat(
            size: Int64(status.st_size), modified: status.st_mtim.nanoseconds,
            changed: status.st_ctim.nanoseconds, blocks: Int64(status.st_blocks))
    }

    /// As ``status()``, and never while a download writes, which changes the file's modification time for a moment.
    package func steadyStatus() throws(ContentError) -> ContentStat {
        let result: Result<ContentStat, ContentError> = presence.withLock { _ in
            do throws(ContentError) { return .success(try self.status()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Sets the file's own modification time (nanoseconds since 1970) to the document's, so that attributes read from
    /// the file are right while a program writes to it directly (passthrough).
    package func setModified(_ nanoseconds: Int64) throws(ContentError) {
        // (Not while a download writes: it would set the old time again.)
        let failure: ContentError? = presence.withLock { _ in
            do throws(ContentError) { try self.date(nanoseconds) } catch { return error }
            return nil
        }
        if let failure { throw failure }
    }

    private func date(_ nanoseconds: Int64) throws(ContentError) {
        let (seconds, rest) = nanoseconds.quotientFlooring(1_000_000_000)
        guard clinux_set_modified_fd(descriptor, seconds, rest) == 0 else { throw .last(path) }
    }

    /// fdatasync(2): bytes written before survive power loss.
    package func synchronize() throws(ContentError) {
        guard fdatasync(descriptor) == 0 else { throw .last(path) }
    }

    /// Whether another user (a passthrough handle, a mapping that outlived one) has the file open.
    ///
    /// fcntl(2), F_SETLEASE: only the sole opener gets a write lease.
    package var isUsedElsewhere: Bool {
        clinux_try_write_lease(descriptor) != 0 && (errno == EAGAIN || errno == EBUSY)
    }

    func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> ContentError? {
        var done = 0
        while done < bytes.count {
            let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + done)
            if count < 0 {
                if errno == EINTR { continue }
                return .last(path)
            }
            done += count
        }
        return nil
    }
}

extension ContentFile.Presence {
    mutating func add(_ range: Range<Int64>) {
        guard ranges != nil else { return }
        ranges!.insert(contentsOf: range)
        settle()
    }

    fileprivate mutating func truncate(to size: Int64) {
        baseSize = min(baseSize, size)
        if recorded != nil {
            recorded!.remove(contentsOf: baseSize..<Int64.max)
            settleRecorded()
        }
        guard ranges != nil else { return }
        ranges!.remove(contentsOf: baseSize..<Int64.max)
        settle()
    }

    mutating func settleRecorded() {
        if recorded?.isSuperset(of: RangeSet(0..<baseSize)) == true { recorded = nil }
    }

    private mutating func settle() {
        if ranges!.isSuperset(of: RangeSet(0..<baseSize)) { (ranges, written) = (nil, RangeSet()) }
    }
}

extension timespec {
    /// Since 1970; a date too far away gives the nearest possible value.
    var nanoseconds: Int64 { Int64(clamping: Int128(tv_sec) * 1_000_000_000 + Int128(tv_nsec)) }
}

extension Int64 {
    fileprivate func quotientFlooring(_ divisor: Int64) -> (Int64, Int64) {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }
}
