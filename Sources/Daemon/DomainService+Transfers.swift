import ControlAPI
import DocumentServices
import FileProvider
import ItemCatalog
import Surroundings
import SyncEngine
import Trees
import Volume

/// Pinning and evicting at a user's request.
extension DomainService {
    /// The result for one path.
    struct Done {
        var bytes: Int64 = 0
        var note: String?
    }

    func each(_ paths: [PathBytes], _ body: (InodeRecord) async throws -> Done) async -> [PathOutcome] {
        var outcomes: [PathOutcome] = []
        for path in paths {
            outcomes.append(await outcome(path) { try await body(try await domainPaths.resolve(path)) })
        }
        return outcomes
    }

    func outcome(_ path: PathBytes, _ body: () async throws -> Done) async -> PathOutcome {
        do {
            let done = try await body()
            return PathOutcome(path: path, bytes: done.bytes, note: done.note)
        } catch {
            let message = (error as? ControlFailure)?.message ?? "\(mountPoint)/\(path.string): \(text(error))"
            return PathOutcome(path: path, error: message)
        }
    }

    /// The error, and what happens next.
    private func text(_ error: any Error) -> String {
        guard let error = error as? SyncError else { return "\(error)" }
        return FailureTable.text(error)
    }

    // MARK: Evict

    /// Evicts a document, or the documents in those parts of a folder that have been listed.
    func evict(_ record: InodeRecord) async throws -> Done {
        guard record.isFolder else { return Done(bytes: try volume.engine.evict(record.id)) }
        var freed: Int64 = 0
        var staying: [EvictionRefusal: Int] = [:]
        try await walk(record, listing: false) { document in
            do { freed = freed.adding(atMost: try volume.engine.evict(document.id)) } catch {
                // A document that is gone or cannot be evicted now must not stop the others.
                if case .catalog(let failure)? = error as? SyncError, failure.code == .notFound { return }
                guard case .provider(let failure)? = error as? SyncError,
                    let refusal = failure.cause as? EvictionRefusal
                else { throw error }
                if document.bytesPresent > 0 { staying[refusal, default: 0] += 1 }
            }
        }
        return Done(bytes: freed, note: note(staying))
    }

    private func note(_ staying: [EvictionRefusal: Int]) -> String? {
        let reasons = EvictionRefusal.allCases.compactMap { refusal in
            staying[refusal].map { "\($0) \(refusal.inShort)" }
        }
        let count = staying.values.reduce(0, +)
        if count == 0 { return nil }
        return "\(count == 1 ? "1 document stays" : "\(count) documents stay"): " + reasons.joined(separator: ", ")
    }

    // MARK: Pins

    /// The pin is recorded when this returns; missing bytes are downloaded in the background.
    func pin(_ record: InodeRecord) async throws -> Done {
        let catalog = volume.engine.mount.catalog
        guard let item = try pinnable(record) else { return Done(note: Self.notPinnable) }
        try await volume.engine.setPinned(item.id, true)
        var note: String?
        if record.isFolder {
            do { try await walk(record, listing: true) { _ in } } catch {
                note = "pinned, but not all folders in it could be listed yet; Hydrant tries again (\(error))"
            }
        }
        let missing = try catalog.read { try $0.missingPinned(under: item.id) }
        return Done(bytes: missing.map(\.bytes).boundedSum, note: note)
    }

    static let notPinnable = "cannot be pinned: not a document or folder of the store"

    func pinnable(_ record: InodeRecord) throws -> ItemRecord? {
        guard let item = try volume.engine.mount.catalog.read({ try $0.item(of: record.id) }), !item.isExcluded,
            record.isFolder || record.kind == .document
        else { return nil }
        return item
    }

    func unpin(_ record: InodeRecord) async throws -> Done {
        let catalog = volume.engine.mount.catalog
        guard let item = try catalog.read({ try $0.item(of: record.id) }),
            let pinned = try catalog.read({ try $0.pin(of: item) })
        else { return Done(note: "not pinned") }
        guard pinned.id == item.id else {
            let folder = pinned.inode.map(shownPath) ?? mountPoint
            throw SyncError.provider(FileProviderError(.busy, "is pinned with \(folder); unpin that folder"))
        }
        try await volume.engine.setPinned(item.id, false)
        var rest = item
        rest.isPinned = false
        guard let above = try catalog.read({ try $0.pin(of: rest) }) else { return Done() }
        let folder = above.inode.map(shownPath) ?? mountPoint
        return Done(note: "unpinned, but still pinned with the folder \(folder)")
    }

    // MARK: Folders

    /// Calls `body` for every document below a folder.
    func walk(_ folder: InodeRecord, listing: Bool, _ body: (InodeRecord) async throws -> Void) async throws {
        var waiting = [folder.id]
        while let next = waiting.popLast() {
            // The client may have hung up.
            try Task.checkCancellation()
            let catalog = volume.engine.mount.catalog
            if listing, try !catalog.read({ try $0.inode(next).isEnumerated }) {
                try await volume.engine.enumerate(next)
            }
            var cookie: Int64 = 0
            while true {
                let entries = try catalog.read { try $0.children(of: next, after: cookie, limit: 500) }
                guard let last = entries.last else { break }
                cookie = last.cookie
                for entry in entries {
                    if entry.inode.isFolder { waiting.append(entry.inode.id) }
                    if entry.inode.kind == .document { try await body(entry.inode) }
                }
            }
        }
    }
}

extension EvictionRefusal {
    /// A name for counting refusals of one kind.
    fileprivate var inShort: String {
        switch self {
        case .modified: "modified (hydrant sync sends the changes)"
        case .held: "deleted in the store (hydrant resolve)"
        case .excluded: "on this machine only"
        case .pinned: "pinned"
        case .open: "open in a program"
        case .mapped: "mapped by a program"
        case .downloading: "being downloaded"
        }
    }
}
