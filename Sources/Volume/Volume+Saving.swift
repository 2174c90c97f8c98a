import ItemCatalog
import Locking
import Logging
import SyncEngine
import Trees

/// Saves that keep the old version as a backup: the document goes on with new bytes, and the old bytes become a file of
/// their own. Those that are not here must be downloaded while the store still has them.
extension Volume {
    /// Runs a transaction that may part a document from its bytes.
    func saving<T>(_ body: (Catalog.Writer) throws -> T) throws -> T {
        let result = try catalog.write { writer in
            writer.transaction.canDownload = { [self] inode in !unobtainable.withLock { $0.contains(inode) } }
            return try body(writer)
        }
        unobtainable.withLock { if !$0.isEmpty { $0 = [] } }
        return result
    }

    /// Waits for the missing bytes. Until then the document's change is not sent. If the bytes cannot be had, the save
    /// is taken for a move and a new document; nothing is lost by that.
    func waitForBytes<T>(of inode: InodeID) -> Outcome<T> {
        let postpone: @Sendable (Double) -> Void = { [catalog] seconds in
            _ = try? catalog.write { try $0.postpone(inode, seconds: seconds) }
        }
        postpone(Catalog.longestPostponement)
        return .wait(
            Wait { [self] in
                do { _ = try await engine.download(inode) } catch {
                    unobtainable.withLock { _ = $0.insert(inode) }
                    postpone(times.settle)
                    mount.logger.info(
                        "cannot download the version before a save: the saved file counts as a new document",
                        metadata: ["inode": "\(inode)", "error": "\(error)"])
                }
            })
    }
}
