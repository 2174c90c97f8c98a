import CLinux
package import FileProvider
import Foundation
import GRDB
package import Trees

extension Catalog {
    /// A snapshot of the catalog for look-ups.
    package class Reader {
        let db: Database
        let queries: PreparedQueries
        init(db: Database, _ queries: PreparedQueries) {
            self.db = db
            self.queries = queries
        }
    }

    /// A transaction in progress. Instances exist only inside ``Catalog/write(_:)``.
    package final class Writer: Reader {
        package let now: FileTime
        package let transaction = TreeTransaction()
        private let kept: Kept
        package var exclusions: Exclusions { kept.exclusions }
        package var hold: DeletionHold { kept.hold }
        package var waiting: WaitingItems { kept.waiting }
        package var reopened: ReopenedFolders { kept.reopened }
        var front: ListingFront { kept.front }
        var indexedNames: IndexedNames { kept.indexedNames }

        init(db: Database, _ queries: PreparedQueries, _ kept: Kept) {
            self.kept = kept
            now = kept.date()
            super.init(db: db, queries)
        }
    }

    /// The state that a catalog keeps in memory between transactions.
    struct Kept: Sendable {
        /// Rules for items that stay on this machine.
        let exclusions: Exclusions
        /// Rules for holding deletions of the store until a person decides.
        let hold: DeletionHold
        /// The clock of changes and of waits.
        let date: @Sendable () -> FileTime
        let waiting = WaitingItems()
        let reopened = ReopenedFolders()
        let front = ListingFront()
        let indexedNames = IndexedNames()
    }
}

extension FileTime {
    /// CLOCK_REALTIME.
    package static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}
