internal import CFUSE
internal import CURing
internal import Glibc
internal import Synchronization

/// Room for one request and its answer, which the kernel fills and reads.
///
/// In memory: the kernel's header at the beginning of a page, and at the payload's front, where libfuse expects a
/// request in one piece, room for the request's own header. So a write's bytes are not copied.
///
/// `@unchecked Sendable`: the memory belongs to the kernel, or to the one thread that processes or answers the request
/// (`state`).
final class FUSERingEntry: @unchecked Sendable {
    /// Where the request is.
    enum State: UInt8, AtomicRepresentable {
        /// With the kernel, or with the thread that has it from there.
        case processing
        case answered
        /// Its thread has left it without an answer.
        case detached
    }

    static let page = 4096
    let queue: UInt16
    let payloadSize: Int
    let state = Atomic(State.processing)
    /// The kernel's number of the request.
    private(set) var unique: UInt64 = 0
    private let memory: UnsafeMutableRawPointer
    /// The header and the payload, for the kernel.
    let parts = UnsafeMutablePointer<iovec>.allocate(capacity: 2)
    /// Whether it was given to the kernel, and whether the kernel has taken it: a request has come.
    var (isRegistered, isAccepted) = (false, false)

    /// Nil: there is no memory.
    init?(queue: UInt16, payloadSize: Int) {
        let size = Self.page + payloadSize
        guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
            memory != MAP_FAILED
        else {
            parts.deallocate()
            return nil
        }
        self.queue = queue
        self.payloadSize = payloadSize
        self.memory = memory
        parts[0] = iovec(iov_base: memory, iov_len: MemoryLayout<hydrant_ring_header>.size)
        parts[1] = iovec(iov_base: memory + Self.page, iov_len: payloadSize)
    }

    deinit {
        munmap(memory, Self.page + payloadSize)
        parts.deallocate()
    }

    var payload: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: memory + Self.page, count: payloadSize)
    }

    var header: UnsafeMutablePointer<hydrant_ring_header> {
        memory.assumingMemoryBound(to: hydrant_ring_header.self)
    }

    /// The request in one piece, as a read of the device would give it; nil when its lengths contradict each other.
    func request() -> UnsafeMutableRawBufferPointer? {
        let head = MemoryLayout<fuse_in_header>.size
        let header = memory.loadUnaligned(as: fuse_in_header.self)
        unique = header.unique
        let (length, payload) = (Int(header.len), Int(self.header.pointee.payload_size))
        let operation = length - head - payload
        guard payload <= payloadSize,
            (0...MemoryLayout.size(ofValue: self.header.pointee.operation)).contains(operation)
        else { return nil }
        let start = memory + Self.page - operation - head
        memcpy(start, memory, head)
        memcpy(start + head, memory + MemoryLayout.offset(of: \hydrant_ring_header.operation)!, operation)
        return UnsafeMutableRawBufferPointer(start: start, count: length)
    }

    /// Puts libfuse's answer (its header first) where the kernel reads it.
    func fill(_ vectors: UnsafeBufferPointer<iovec>) {
        var answer = vectors[0].iov_base.loadUnaligned(as: fuse_out_header.self)
        var size = 0
        for vector in vectors.dropFirst() where vector.iov_len > 0 {
            guard size + vector.iov_len <= payloadSize else {
                (answer.error, size) = (-EIO, 0)
                break
            }
            let place = memory + Self.page + size
            if vector.iov_base != place { memmove(place, vector.iov_base, vector.iov_len) }
            size += vector.iov_len
        }
        finish(&answer, size)
    }

    func fill(error: Int32) {
        var answer = fuse_out_header(len: 0, error: -error, unique: unique)
        finish(&answer, 0)
    }

    private func finish(_ answer: inout fuse_out_header, _ size: Int) {
        answer.len = UInt32(MemoryLayout<fuse_out_header>.size + size)
        memory.storeBytes(of: answer, as: fuse_out_header.self)
        header.pointee.payload_size = UInt32(size)
    }
}
