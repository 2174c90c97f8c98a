import ControlAPI
import FileProvider
import Foundation
import ItemCatalog
import SyncEngine
import Volume

/// Answers the command line.
struct DomainService: ControlService {
    let volume: Volume
    let domain: String
    let provider: String
    let mountPoint: String
    let hasPassthrough: @Sendable () -> Bool

    func respond(to request: ControlRequest) async -> ControlResponse {
        do {
            switch request {
            case .ping: return .pong(pid: getpid())
            case .status(let paths) where paths.isEmpty: return .domain(try summary(), items: try unsettled())
            case .status(let paths):
                var items: [ItemStatus] = []
                for path in paths { items.append(try await status(of: path)) }
                return .items(items)
            case .evict(let paths): return .outcomes(await each(paths, evict))
            case .download(let paths): return .outcomes(await each(paths, download))
            case .sync(let timeout):
                return .synced(pending: try await volume.engine.sync(timeout: timeout).map(change))
            case .prepareUnmount: return .domain(try summary(), items: [])
            }
        } catch let failure as ControlFailure {
            return .failure(failure)
        } catch {
            return .failure(ControlFailure(code: ControlFailure.internalError, message: "\(error)"))
        }
    }

    private func summary() throws -> DomainStatus {
        DomainStatus(
            domain: domain, provider: provider, mountPoint: mountPoint, pid: getpid(),
            pending: try volume.engine.pending().map(change), passthrough: hasPassthrough())
    }

    // MARK: Status

    private func names(_ path: PathBytes) -> [Filename] {
        path.bytes.split(separator: UInt8(ascii: "/")).map { Filename(bytes: $0) }
    }

    private func resolve(_ path: PathBytes) async throws -> InodeRecord {
        do { return try await volume.resolve(names(path)) } catch {
            let shown = mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string)
            throw ControlFailure(code: "path", message: "\(shown): \(error.message)")
        }
    }

    private func status(of path: PathBytes) async throws -> ItemStatus {
        let (record, item) = try volume.inspect(try await resolve(path).id)
        return status(record, item, path: mountPoint + (path.bytes.isEmpty ? "" : "/" + path.string))
    }

    /// Everything that is modified or failed.
    private func unsettled() throws -> [ItemStatus] {
        try volume.engine.pending().compactMap { item in
            guard let inode = item.inode else { return nil }
            let (record, item) = try volume.inspect(inode)
            return status(record, item, path: shownPath(inode))
        }
    }

    private func status(_ record: InodeRecord, _ item: ItemRecord?, path: String) -> ItemStatus {
        let kind: ItemStatus.Kind =
            switch record.kind {
            case .document: .document
            case .folder: .folder
            case .link: .link
            }
        let state: ItemState
        switch record.kind {
        case .document:
            state = record.extents.map { $0.isEmpty ? .placeholder : .partial } ?? .downloaded
        case .folder: state = record.isEnumerated ? .downloaded : .placeholder
        case .link: state = .downloaded
        }
        return ItemStatus(
            path: path, identifier: item?.identifier?.rawValue, kind: kind, state: state,
            modified: item?.isModified == true || record.writing == .modified, pinned: item?.isPinned ?? false,
            excluded: item?.isExcluded ?? false, size: record.size,
            bytesDownloaded: record.kind == .document ? record.bytesPresent : 0,
            version: item?.baseVersion?.content.description, error: item?.failure?.message)
    }

    private func shownPath(_ inode: InodeID) -> String {
        guard let names = try? volume.engine.context.catalog.read({ try $0.path(of: inode) }) else { return mountPoint }
        return ([mountPoint] + names.map(\.string)).joined(separator: "/")
    }

    private func change(_ item: ItemRecord) -> PendingChange {
        let what: String
        if item.local == nil {
            what = "delete"
        } else if item.identifier == nil {
            what = "create"
        } else if item.local != item.base {
            what = "move"
        } else {
            what = item.contentRevision != 0 ? "upload" : "metadata"
        }
        let path = item.inode.map(shownPath) ?? "\(mountPoint)/…/\((item.base ?? item.remote)?.name.string ?? "?")"
        return PendingChange(
            path: path, what: what, error: item.failure?.message,
            nextTry: item.failure.map { Double($0.retryAt.nanoseconds) / 1e9 })
    }

    // MARK: Evict and download

    private func each(_ paths: [PathBytes], _ body: (InodeRecord) async throws -> Int64) async -> [PathOutcome] {
        var outcomes: [PathOutcome] = []
        for path in paths {
            do {
                outcomes.append(PathOutcome(path: path, bytes: try await body(try await resolve(path))))
            } catch {
                let message = (error as? ControlFailure)?.message ?? "\(mountPoint)/\(path.string): \(error)"
                outcomes.append(PathOutcome(path: path, error: message))
            }
        }
        return outcomes
    }

    /// A document, or what is in a folder (of what has been looked at).
    private func evict(_ record: InodeRecord) async throws -> Int64 {
        guard record.isFolder else { return try volume.engine.evict(record.id) }
        var freed: Int64 = 0
        try await walk(record, listing: false) { document in
            // What cannot be evicted now (open, modified) does not keep the rest from it.
            freed += (try? volume.engine.evict(document.id)) ?? 0
        }
        return freed
    }

    private func download(_ record: InodeRecord) async throws -> Int64 {
        guard record.isFolder else { return try await volume.engine.download(record.id) }
        var brought: Int64 = 0
        try await walk(record, listing: true) { document in
            brought += try await volume.engine.download(document.id)
        }
        return brought
    }

    /// Every document below a folder.
    private func walk(_ folder: InodeRecord, listing: Bool, _ body: (InodeRecord) async throws -> Void) async throws {
        var waiting = [folder.id]
        while let next = waiting.popLast() {
            let catalog = volume.engine.context.catalog
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
