import ItemCatalog
import Locking
import Synchronization
import Trees

extension Volume {
    /// Runs a change under the node's lock. If the document gets a new generation just then, and the writer's bytes an
    /// inode of their own, the change is made again, on that inode.
    func changing<T>(
        _ node: Node, _ body: (inout Node.State) throws -> T
    ) throws(VolumeError) -> T {
        func attempt() throws(VolumeError) -> Attempt<T> {
            do { return .made(try node.withLock { state in try body(&state) }) } catch {
                guard let failure = error as? CatalogError, failure.code == .replaced,
                    node.withLock({ !$0.isPast && $0.writers > 0 })
                else { throw VolumeError(error) }
                return .unpublished(failure)
            }
        }
        if case .made(let result) = try attempt() { return result }
        switch try splits.wait(for: attempt) {
        case .made(let result): return result
        case .unpublished(let failure): throw VolumeError(failure)
        }
    }
}

/// A change of a document that a program is writing.
enum Attempt<T> {
    case made(T)
    /// The catalog has split the writer's bytes from the document, and the split is not published to the volume yet.
    case unpublished(CatalogError)
}

/// Lets threads wait until a split is published to the volume. A thread that waits holds no lock.
final class SplitWaiters: Sendable {
    private let publications = Monitor<UInt64>(0)
    private let waiting = Atomic(0)
    private let patience: UInt64

    init(seconds: Double = 10) { patience = UInt64(seconds * 1_000_000_000) }

    /// Wakes the waiting threads: a node stands for another inode, or is past, or has lost a writer. Called when the
    /// node's lock has been released: a thread whose attempt did not see that counts as waiting by then.
    func published() {
        if waiting.load(ordering: .sequentiallyConsistent) > 0 { publications.withLock { $0 += 1 } }
    }

    /// Attempts it now, and again after each publication; at most for so long.
    func wait<T>(for attempt: () throws(VolumeError) -> Attempt<T>) throws(VolumeError) -> Attempt<T> {
        waiting.add(1, ordering: .sequentiallyConsistent)
        defer { waiting.subtract(1, ordering: .sequentiallyConsistent) }
        let deadline = monotonicNow() + patience
        while true {
            // Noted before the attempt, so that a publication during it is not missed.
            let seen = publications.withLock { $0 }
            let result = try attempt()
            guard case .unpublished = result else { return result }
            let isOver = publications.wait { count in
                if count != seen { return .done(false) }
                return monotonicNow() < deadline ? .waitUntil(nanoseconds: deadline) : .done(true)
            }
            if isOver { return result }
        }
    }
}
