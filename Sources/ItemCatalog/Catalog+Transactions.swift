import CLinux
package import FileProvider
import Foundation
import GRDB
package import Trees

extension Catalog {
    /// A snapshot of the catalog to look things up in.
    package class Reader {
        let db: Database
        let queries: PreparedQueries
        init(db: Database, _ queries: PreparedQueries) {
            self.db = db
            self.queries = queries
        }
    }

    /// A transaction under way. Instances live only inside ``Catalog/write(_:)``.
    package final class Writer: Reader {
        package let now = FileTime.now
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
            super.init(db: db, queries)
        }
    }

    /// What a catalog has in memory from one transaction to the next.
    struct Kept: Sendable {
        /// What stays on this machine.
        let exclusions: Exclusions
        /// Which deletions in the store wait for a person.
        let hold: DeletionHold
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
