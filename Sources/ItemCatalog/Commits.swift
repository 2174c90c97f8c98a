import Foundation
import Locking
package import Trees

/// Told of each transaction of a catalog. One place for what follows from a commit, so that no caller can forget it.
package protocol CommitObserver: AnyObject, Sendable {
    /// A transaction begins; called in the catalog's turn.
    func begins(_ transaction: TreeTransaction)
    /// It is committed. Called by the thread that ran it, outside of the turn, and after ``CommitNotices/end()`` where
    /// that thread puts notices off. Must not block.
    func committed(_ transaction: TreeTransaction)
    /// It was rolled back.
    func failed(_ transaction: TreeTransaction)
}

/// Puts off what a thread's commits cause, while the thread holds a lock that observers take (`Node.withLock`).
package enum CommitNotices {
    private final class Waiting {
        var depth = 0
        var notices: [() -> Void] = []
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        // (Of a thread that ends.)
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

    /// From now on this thread's notices wait for ``end()``, once for each call. Nothing in between may suspend a task.
    package static func begin() { waiting.depth += 1 }

    /// The lock has been given back: notices that wait are carried out, in the order of their commits.
    package static func end() {
        let waiting = waiting
        waiting.depth -= 1
        guard waiting.depth == 0, !waiting.notices.isEmpty else { return }
        let notices = waiting.notices
        waiting.notices = []
        for notice in notices { notice() }
    }

    static func carryOut(_ notice: @escaping () -> Void) {
        let waiting = waiting
        if waiting.depth > 0 { waiting.notices.append(notice) } else { notice() }
    }
}
