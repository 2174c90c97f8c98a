import Foundation
import Locking
package import Trees

/// Is told of each transaction of a catalog. All consequences of a commit start here, so that no caller can forget one.
package protocol CommitObserver: AnyObject, Sendable {
    /// A transaction begins; called while it has the catalog's turn.
    func begins(_ transaction: TreeTransaction)
    /// The transaction is committed. Called on the thread that ran it, after the turn has ended, and after
    /// ``CommitNotices/end()`` if that thread defers notices. Must not block.
    func committed(_ transaction: TreeTransaction)
    /// The transaction was rolled back.
    func failed(_ transaction: TreeTransaction)
}

/// Defers the consequences of a thread's commits while the thread holds a lock that observers take (`Node.withLock`).
package enum CommitNotices {
    private final class Waiting {
        var depth = 0
        var notices: [() -> Void] = []
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // Runs when a thread ends.
        pthread_key_create(&key) { waiting in
            if let waiting { Unmanaged<Waiting>.fromOpaque(waiting).release() }
        }
        return key
    }()

    private static var waiting: Waiting {
        if let known = pthread_getspecific(key) { return Unmanaged<Waiting>.fromOpaque(known).takeUnretainedValue() }
        let new = Waiting()
        pthread_setspecific(key, Unmanaged.passRetained(new).toOpaque())
        return new
    }

    /// From now on this thread's notices wait for ``end()``; calls nest. No task may suspend in between.
    package static func begin() { waiting.depth += 1 }

    /// The lock has been released: runs the deferred notices in the order of their commits.
    package static func end() {
        let waiting = waiting
        waiting.depth -= 1
        guard waiting.depth == 0, !waiting.notices.isEmpty else { return }
        let notices = waiting.notices
        waiting.notices = []
        for notice in notices { notice() }
    }

    /// Runs `body`, and carries out the notices of its commits on another thread: the caller may hold any lock, because it
    /// only meant to read.
    static func elsewhere(_ body: () -> Void) {
        let waiting = waiting
        let before = waiting.notices.count
        waiting.depth += 1
        body()
        waiting.depth -= 1
        let handedOver = HandedOver(notices: Array(waiting.notices[before...]))
        waiting.notices.removeSubrange(before...)
        if handedOver.notices.isEmpty { return }
        DispatchQueue.global().async { for notice in handedOver.notices { notice() } }
    }

    /// Unchecked: the thread that made the notices has given them up.
    private struct HandedOver: @unchecked Sendable { var notices: [() -> Void] }

    static func carryOut(_ notice: @escaping () -> Void) {
        let waiting = waiting
        if waiting.depth > 0 { waiting.notices.append(notice) } else { notice() }
    }
}
