package import FileProvider
import Glibc
import Synchronization
package import Volume

/// Records the kernel's invalidations.
package final class FakeKernel: KernelNotifying {
    package enum Notice: Hashable, Sendable {
        case entry(NodeID, Filename)
        case expiry(NodeID, Filename)
        case attributes(NodeID)
        case contents(NodeID)
    }
    private let noted = Mutex<[Notice]>([])
    package init() {}
    package var notices: [Notice] { noted.withLock { $0 } }
    private func note(_ notice: Notice) { noted.withLock { $0.append(notice) } }
    package func invalidateEntry(in folder: NodeID, name: Filename) { note(.entry(folder, name)) }
    package func expireEntry(in folder: NodeID, name: Filename) { note(.expiry(folder, name)) }
    package func invalidateAttributes(of node: NodeID) { note(.attributes(node)) }
    package func invalidateContents(of node: NodeID) { note(.contents(node)) }
}

/// Passthrough without a kernel: reads and writes go to the registered descriptor.
package final class FakeBacking: BackingRegistering {
    private struct State {
        var descriptors: [Int32: Int32] = [:]
        var next: Int32 = 1
        var registrations = 0
    }
    private let state = Mutex(State())
    private let isAllowed: Bool

    package init(isAllowed: Bool) { self.isAllowed = isAllowed }

    package var registrations: Int { state.withLock { $0.registrations } }
    package var openCount: Int { state.withLock { $0.descriptors.count } }

    package func register(_ descriptor: Int32) -> Int32? {
        guard isAllowed else { return nil }
        let own = dup(descriptor)
        guard own >= 0 else { return nil }
        return state.withLock { state in
            defer { state.next += 1 }
            state.descriptors[state.next] = own
            state.registrations += 1
            return state.next
        }
    }

    package func unregister(_ backing: Int32) {
        if let descriptor = state.withLock({ $0.descriptors.removeValue(forKey: backing) }) { close(descriptor) }
    }

    private func descriptor(_ id: Int32) throws(FSError) -> Int32 {
        guard let descriptor = state.withLock({ $0.descriptors[id] }) else { throw FSError(EBADF, "backing \(id)") }
        return descriptor
    }

    func read(_ id: Int32, _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError) -> [UInt8] {
        let count = pread(try descriptor(id), buffer.baseAddress, buffer.count, off_t(offset))
        guard count >= 0 else { throw FSError(errno, "pread") }
        return Array(buffer[..<count])
    }

    func write(_ id: Int32, _ bytes: [UInt8], at offset: Int64) throws(FSError) {
        let descriptor = try descriptor(id)
        let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        guard count == bytes.count else { throw FSError(errno, "pwrite") }
    }
}
