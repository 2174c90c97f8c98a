import ControlAPI
import DocumentServices
import Foundation
import ItemCatalog
import SyncEngine
import Trees
import Volume

/// Downloads documents that a user names.
extension DomainService {
    /// Finds all documents before the first download, so that the total is known.
    func download(_ paths: [PathBytes], pinning: Bool = false, _ tally: Tally) async -> [PathOutcome] {
        var plans: [Result<Plan, any Error>] = []
        for path in paths {
            do { plans.append(.success(try await plan(path, pinning, tally))) } catch { plans.append(.failure(error)) }
        }
        var outcomes: [PathOutcome] = []
        for (path, plan) in zip(paths, plans) {
            outcomes.append(await outcome(path) { try await carryOut(try plan.get(), pinning, tally) })
        }
        return outcomes
    }

    private struct Plan {
        var documents: [(inode: InodeID, missing: Int64)] = []
        var note: String?
        /// The error that ended the search; the documents found before it are downloaded all the same.
        var failure: (any Error)?

        mutating func add(_ record: InodeRecord, _ tally: Tally) {
            guard record.kind == .document, record.extents != nil else { return }
            let missing = max(0, record.size - record.bytesPresent)
            documents.append((record.id, missing))
            tally.found(missing)
        }
    }

    private func plan(_ path: PathBytes, _ pinning: Bool, _ tally: Tally) async throws -> Plan {
        let record = try await domainPaths.resolve(path)
        var plan = Plan()
        if pinning {
            guard let item = try pinnable(record) else { return Plan(note: Self.notPinnable) }
            try await volume.engine.setPinned(item.id, true)
        }
        guard record.isFolder else {
            plan.add(record, tally)
            return plan
        }
        do { try await walk(record, listing: true) { plan.add($0, tally) } } catch { plan.failure = error }
        return plan
    }

    private func carryOut(_ plan: Plan, _ pinning: Bool, _ tally: Tally) async throws -> Done {
        var downloaded: Int64 = 0
        for (inode, missing) in plan.documents {
            tally.begin(volume.engine.mount.path(of: inode), missing)
            defer { tally.finish() }
            do { downloaded += try await volume.engine.download(inode) } catch {
                // The document may have been deleted since the search.
                if case .catalog(let failure) = error, failure.code == .notFound, plan.documents.count > 1 { continue }
                throw error
            }
        }
        if let failure = plan.failure { throw failure }
        // For a pin, report the bytes that are still to come: none.
        return Done(bytes: pinning ? 0 : downloaded, note: plan.note)
    }
}
