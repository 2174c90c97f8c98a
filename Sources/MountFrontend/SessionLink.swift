package import FUSE
package import FileProvider
import Synchronization
package import Volume

/// The volume's connection to the kernel: invalidations and passthrough. Without a session (before the mount, after it)
/// it does nothing.
package final class SessionLink: KernelNotifying, BackingRegistering {
    private struct WeakSession: Sendable { weak var session: FUSESession? }
    private let link = Mutex(WeakSession())

    package init() {}

    package func attach(_ session: FUSESession) { link.withLock { $0.session = session } }
    private var session: FUSESession? { link.withLock { $0.session } }

    package func invalidateEntry(in folder: NodeID, name: Filename) {
        session?.invalidateEntry(parent: folder.rawValue, name: name.bytes)
        invalidateListing(of: folder)
    }

    package func expireEntry(in folder: NodeID, name: Filename) {
        session?.expireEntry(parent: folder.rawValue, name: name.bytes)
        invalidateListing(of: folder)
    }

    /// Sent after the name's invalidation, which waits for listings under way (the kernel's lock on the folder): so
    /// none of them stays cached.
    private func invalidateListing(of folder: NodeID) {
        session?.invalidateInode(folder.rawValue, offset: 0, length: 0)
    }

    package func invalidateAttributes(of node: NodeID) {
        session?.invalidateInode(node.rawValue, offset: -1, length: 0)
    }

    package func invalidateContents(of node: NodeID) {
        session?.invalidateInode(node.rawValue, offset: 0, length: 0)
    }

    package func invalidateContents(of node: NodeID, range: Range<Int64>, then: @escaping @Sendable () -> Void) {
        guard let session else { return then() }
        session.invalidateInode(
            node.rawValue, offset: range.lowerBound, length: range.upperBound - range.lowerBound, then: then)
    }

    package func settle(_ node: NodeID, seconds: Double) async -> Bool {
        guard let session else { return true }
        let (signals, signal) = AsyncStream<Bool>.makeStream()
        session.settleInvalidations(of: node.rawValue) { signal.yield(true) }
        let clock = Task {
            try await Task.sleep(for: .seconds(seconds))
            signal.yield(false)
        }
        defer { clock.cancel() }
        return await signals.first { _ in true } ?? false
    }

    package func register(_ descriptor: Int32) -> Int32? {
        guard let session, session.passthroughAvailable else { return nil }
        return (try? session.openBacking(fileDescriptor: descriptor))?.rawValue
    }

    /// Two round trips to another process cost as much as two reads through the daemon, after which the pages stay in
    /// the kernel.
    package func paysForReaders(of size: Int64) -> Bool {
        session?.passthroughNeedsHelper != true || size > 256 << 10
    }

    package func unregister(_ backing: Int32) { session?.closeBacking(BackingID(rawValue: backing)) }
}
