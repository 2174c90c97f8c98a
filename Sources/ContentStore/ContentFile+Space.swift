import CLinux
import Glibc
import Locking

/// Holes and copies: fallocate(2), lseek(2), copy_file_range(2) on a document of which parts may be missing here.
extension ContentFile {
    /// fallocate(2). A punched or zeroed range never comes from the provider again.
    ///
    /// - Parameter mode: FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE and FALLOC_FL_ZERO_RANGE; others fail with
    ///   EOPNOTSUPP, as they would shift bytes that are missing here.
    /// - Returns: whether bytes are here now that the catalog does not know.
    package func allocate(mode: Int32, _ range: Range<Int64>) throws(ContentError) -> Bool {
        let zeroes = mode & (CLINUX_ALLOCATE_PUNCH_HOLE | CLINUX_ALLOCATE_ZERO_RANGE) != 0
        guard mode & ~(CLINUX_ALLOCATE_KEEP_SIZE | CLINUX_ALLOCATE_PUNCH_HOLE | CLINUX_ALLOCATE_ZERO_RANGE) == 0 else {
            throw ContentError(code: .system(EOPNOTSUPP), message: "\(path): this mode of fallocate is not supported")
        }
        let result: Result<Bool, ContentError> = presence.withLock { state in
            guard clinux_allocate(self.descriptor, mode, range.lowerBound, Int64(range.count)) == 0 else {
                return .failure(.last(self.path))
            }
            return .success(zeroes && state.fill(range))
        }
        return try result.get()
    }

    /// lseek(2) with SEEK_DATA or SEEK_HOLE; ENXIO past the last. Missing bytes count as data, so that an archiver does
    /// not take them for zeros.
    package func seek(_ offset: Int64, data: Bool) throws(ContentError) -> Int64 {
        let end = try status().size
        guard offset >= 0, offset < end else {
            throw ContentError(code: .system(ENXIO), message: "\(path): no byte at \(offset)")
        }
        var place = offset
        while place < end {
            if let missing = missing(in: place..<end).first {
                if data {
                    return missing.lowerBound == place
                        ? place : min(try seekHere(place, data) ?? end, missing.lowerBound)
                }
                if missing.lowerBound == place {
                    place = missing.upperBound
                    continue
                }
                let hole = try seekHere(place, data) ?? end
                if hole < missing.lowerBound { return hole }
                place = missing.lowerBound
                continue
            }
            if let found = try seekHere(place, data) { return found }
            throw ContentError(code: .system(ENXIO), message: "\(path): no data after \(offset)")
        }
        return end
    }

    /// Nil: ENXIO. (The file's position is not used: all reads and writes pass an offset.)
    private func seekHere(_ offset: Int64, _ data: Bool) throws(ContentError) -> Int64? {
        let found = lseek(descriptor, off_t(offset), data ? CLINUX_SEEK_DATA : CLINUX_SEEK_HOLE)
        if found >= 0 { return Int64(found) }
        if errno == ENXIO { return nil }
        throw .last(path)
    }

    /// copy_file_range(2) from another document, or this one; the caller ensures that the source is here.
    ///
    /// - Returns: the number of bytes, and whether bytes are here now that the catalog does not know.
    package func copy(
        from source: ContentFile, at sourceOffset: Int64, to offset: Int64, count: Int
    ) throws(ContentError) -> (count: Int, extended: Bool) {
        let result: Result<(Int, Bool), ContentError> = presence.withLock { state in
            let done = clinux_copy_range(source.descriptor, sourceOffset, self.descriptor, offset, count)
            if done < 0 { return .failure(.last(self.path)) }
            return .success((done, state.fill(offset..<offset + Int64(done))))
        }
        let (done, extended) = try result.get()
        return (done, extended)
    }
}

extension ContentFile {
    /// The block size of most file systems.
    private static let block = 4_096

    /// As ``writeAll(_:at:)``, but blocks of zeros stay holes where the file has no data.
    func writeSparsely(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> ContentError? {
        var start = 0
        while start < bytes.count {
            var end = Self.blockEnd(start, of: bytes, at: offset)
            let isZero = Self.isZero(bytes[start..<end])
            // One call for each run of blocks of one kind.
            while end < bytes.count {
                let next = Self.blockEnd(end, of: bytes, at: offset)
                guard Self.isZero(bytes[end..<next]) == isZero else { break }
                end = next
            }
            let range = offset + Int64(start)..<offset + Int64(end)
            if !(isZero && staysHole(range)) {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                if let failure = writeAll(piece, at: range.lowerBound) { return failure }
            }
            start = end
        }
        return nil
    }

    /// The end of the file's block that contains `place`, an index into bytes that go to `offset`.
    private static func blockEnd(_ place: Int, of bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int {
        min(bytes.count, place + block - Int((offset + Int64(place)) % Int64(block)))
    }

    private static func isZero(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        guard let start = bytes.baseAddress else { return true }
        // (If the first byte is zero, and all bytes equal their successors, all are zero.)
        return bytes[0] == 0 && memcmp(start, start + 1, bytes.count - 1) == 0
    }

    /// Whether the file has no data there; punches out leftovers of an earlier download.
    private func staysHole(_ range: Range<Int64>) -> Bool {
        var status = stat()
        // (Beyond the end of the file there is no hole yet.)
        guard fstat(descriptor, &status) == 0, Int64(status.st_size) >= range.upperBound else { return false }
        let data = lseek(descriptor, off_t(range.lowerBound), CLINUX_SEEK_DATA)
        if data < 0 { return errno == ENXIO }
        if Int64(data) >= range.upperBound { return true }
        let mode = CLINUX_ALLOCATE_PUNCH_HOLE | CLINUX_ALLOCATE_KEEP_SIZE
        return clinux_allocate(descriptor, mode, range.lowerBound, Int64(range.count)) == 0
    }
}

extension ContentFile.Presence {
    /// Marks the range as a program's bytes; returns whether some of it is not recorded. (A download's bytes are here
    /// before they are recorded: they must not be written over a program's again.)
    mutating func fill(_ range: Range<Int64>) -> Bool {
        let range = range.clamped(to: 0..<baseSize)
        if range.isEmpty { return false }
        if ranges != nil { written.insert(contentsOf: range) }
        add(range)
        return recorded.map { !$0.isSuperset(of: RangeSet(range)) } ?? false
    }
}
