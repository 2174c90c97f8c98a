import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Surroundings
import SyncEngine
import Trees
import Volume

/// Answers the command line's requests.
struct DomainService: ControlService {
    let volume: Volume
    let domain: String
    let provider: String
    let mountPoint: String
    let stateDirectory: String
    let hasPassthrough: @Sendable () -> Bool
    let transport: @Sendable () -> RequestTransport
    let coordination: CoordinationService
    let bookmarks: BookmarkService
    let signOut: SignOutService
    let queries: QueryService
    let policy: PolicyService
    let thumbnails: ThumbnailService
    let picking: PickerService
    /// The name of the domain that people see.
    let title: String
    var domainPaths: DomainPaths { DomainPaths(volume, mountPoint: mountPoint) }

    func respond(to request: ControlRequest) async -> ControlResponse {
        do {
            switch request {
            case .ping: return .pong(pid: getpid())
            case .status(let paths) where paths.isEmpty: return .domain(try await summary(), items: try unsettled())
            case .status(let paths):
                var items: [ItemStatus] = []
                for path in paths { items.append(try await status(of: path)) }
                return .items(items)
            case .evict(let paths): return .outcomes(await each(paths, evict))
            case .download(let paths): return .outcomes(await download(paths, Tally()))
            case .pin(let paths, waits: true): return .outcomes(await download(paths, pinning: true, Tally()))
            case .pin(let paths, waits: false): return .outcomes(await each(paths, pin))
            case .unpin(let paths): return .outcomes(await each(paths, unpin))
            case .sync(let timeout):
                return .synced(pending: try await volume.engine.sync(timeout: timeout).map(change))
            case .thumbnail(let path, let size): return .thumbnail(try await thumbnail(of: path, size: size))
            case .giveThumbnail(let path, let picture, let contents):
                return .thumbnailGiven(try await giveThumbnail(picture, to: path, of: contents))
            case .pause: return .settings(try await setPaused(true))
            case .resume: return .settings(try await setPaused(false))
            case .limit(let download, let upload): return .settings(limit(download, upload))
            case .bindClaim(let id, let pid): return coordination.bind(id, to: pid)
            case .claims: return .claims(await coordination.claims())
            case .answer(let presenter, let question): return await coordination.answer(presenter, question)
            case .makeBookmark(let request): return .bookmark(try await bookmarks.make(request))
            case .renewBookmark(let bookmark): return .bookmark(try await bookmarks.renew(bookmark))
            case .resolveBookmark(let bookmark): return .resolved(try await bookmarks.resolve(bookmark))
            case .grants: return .grants(await bookmarks.allGrants())
            case .revokeGrant(let id): return .grants([try await bookmarks.revoke(id)])
            case .revokeAllGrants: return .grants(try await bookmarks.revokeAll())
            case .scopedPlace(let token, let name): return .place(try bookmarks.place(of: name, inScope: token))
            case .cancelFetch(let path):
                try await picking.cancelFetch(path)
                return .done
            case .locate(let path):
                try await picking.locate(path)
                return .items([try await status(of: path)])
            case .policy(let changes): return .policy(try policy.change(changes))
            case .queryTaken(let id, let question): return queries.taken(id, question)
            case .textIndex(let isOn): return .textIndex(try await queries.texts.set(isOn))
            case .noteThumbnail(let path, let note):
                try await noteThumbnail(path, note)
                return .done
            case .thumbnails(let isOn): return .thumbnails(try await thumbnails.set(isOn))
            case .settleQueries: return await queries.settle()
            case .promised(let paths, let wantsTags, let size):
                return .promised(await promised(paths, wantsTags: wantsTags, thumbnail: size))
            case .versions(let path, let limit): return .versions(try await versions(of: path, limit: limit))
            case .keepImport(let folder):
                try TemporaryCopies.keep(folder)
                return .done
            case .events, .reporting, .coordinate, .present, .access, .fetch, .query, .copyVersion:
                return .failure(
                    ControlFailure(
                        code: ControlFailure.notReported, message: "this request needs a connection for reports"))
            case .credentialsChanged:
                await volume.engine.credentialMayHaveChanged()
                return .done
            case .signOut(let request):
                let putAside = try await signOut.signOut(request)
                await thumbnails.close()
                thumbnails.removeAll()
                return .signedOut(putAside: putAside)
            case .prepareUnmount, .domain: return .domain(try await summary(), items: [])
            case .retry(let paths, let timeout): return .synced(pending: try await retry(paths, timeout))
            case .discard(let paths, let agreed): return .discards(try await discard(paths, agreed: agreed))
            case .conflicts: return .conflicts(try conflicts())
            case .noteConflict(let original, let copy): return try await noteConflict(original, copy)
            case .resolve(let path, let keep): return try await resolve(path, keep)
            case .links(let path, let request): return .links(try await links(path, request))
            case .trash: return try await trashed()
            case .restoreTrashed(let id, let path): return .restored(try await restoreTrashed(id, path))
            }
        } catch let failure as ControlFailure {
            return .failure(failure)
        } catch {
            return .failure(ControlFailure(code: ControlFailure.internalError, message: "\(error)"))
        }
    }

    private func summary() async throws -> DomainStatus {
        let disk = try await diskUse()
        return DomainStatus(
            domain: domain, provider: provider, mountPoint: mountPoint, pid: getpid(),
            pending: try volume.engine.pending().map(change), passthrough: hasPassthrough(),
            stateDirectory: stateDirectory, disk: disk, transfers: transfers(), settings: settings(),
            conflicts: try volume.engine.mount.catalog.read { try $0.conflictCount() },
            store: volume.engine.quota.last.map { StoreUse(used: $0.used, total: $0.total) },
            heldDeletions: try volume.engine.mount.catalog.read { try $0.heldDeletions() }.map(status),
            connection: connection, providerIdentifier: volume.engine.client.providerIdentifier,
            isReadOnly: volume.engine.mount.isReadOnly, readAhead: readAhead, title: title,
            signsIn: volume.engine.client.hasAccounts, transport: transport())
    }

    private var readAhead: ReadAheadUse {
        let figures = volume.engine.readAhead.figures
        return ReadAheadUse(downloaded: figures.downloaded, unused: max(0, figures.downloaded - figures.used))
    }

    private var connection: ConnectionStatus {
        let state = volume.engine.client.connection.state
        return ConnectionStatus(
            isOnline: state.failure == nil, since: state.since.map { Double($0.nanoseconds) / 1e9 },
            reason: state.failure?.message, needsSignIn: state.failure?.code == .notAuthenticated)
    }

    private func diskUse() async throws -> DiskUse {
        let mount = volume.engine.mount
        let missing = try mount.catalog.read { try $0.hasPins() ? $0.missingPinned() : [] }
        let disk = mount.room.free() ?? (0, 0)
        // (On a worker's thread, as this may read the disk.)
        let use = try await Task(executorPreference: mount.workers) { try mount.cacheUse() }.value
        return DiskUse(
            here: use.bytes, limit: mount.room.limits.most, free: disk.free,
            minimumFree: disk.minimum,
            pinnedToCome: missing.map(\.bytes).boundedSum)
    }

    // MARK: Status

    private func status(of path: PathBytes) async throws -> ItemStatus {
        let (record, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        return try status(record, item, path: domainPaths.shown(path))
    }

    private static let mostHeldShown = 1_000

    /// Every modified or failed item, and the first of the held ones.
    private func unsettled() throws -> [ItemStatus] {
        let catalog = volume.engine.mount.catalog
        let held = try catalog.read { try $0.heldItems(limit: Self.mostHeldShown) }.filter { !$0.isModified }
        return try (volume.engine.pending() + held).compactMap { item in
            guard let inode = item.inode else { return nil }
            let (record, item) = try volume.inspect(inode)
            return try status(record, item, path: shownPath(inode))
        }
    }

    private func status(_ record: InodeRecord, _ item: ItemRecord?, path: String) throws -> ItemStatus {
        let kind: ItemStatus.Kind =
            switch record.kind {
            case .document: .document
            case .folder: .folder
            case .link: .link
            default: .special
            }
        let state: ItemState
        switch record.kind {
        case .document:
            state = record.extents.map { $0.isEmpty ? .placeholder : .partial } ?? .downloaded
        case .folder: state = record.isEnumerated ? .downloaded : .placeholder
        default: state = .downloaded
        }
        let isPinned = try item.map { item in try volume.engine.mount.catalog.read { try $0.isPinned(item) } }
        return ItemStatus(
            path: path, identifier: item?.identifier?.rawValue, kind: kind, state: state,
            modified: item?.isModified == true || record.writing == .modified, pinned: isPinned ?? false,
            excluded: item?.isExcluded ?? false, size: record.size,
            bytesDownloaded: record.kind == .document ? record.bytesPresent : 0,
            version: item?.baseVersion?.content.description,
            error: item?.failure.map(text) ?? item?.heldSince.map { _ in Self.heldText }
                // (A fully downloaded document is readable, whatever failed before.)
                ?? (state == .downloaded ? nil : volume.engine.downloadFailures.last(of: record.id))
                ?? volume.engine.refused.summary(of: record.id))
    }

    private static let heldText = "the store deleted it; it stays here until hydrant resolve --keep mine|theirs"

    /// The reason why the change was not sent, and what happens next.
    private func text(_ failure: ItemFailure) -> String {
        let seconds = Double(failure.retryAt.nanoseconds) / 1e9 - Date().timeIntervalSince1970
        return "\(failure.message); \(FailureTable.next(sending: failure.code, inSeconds: seconds))"
    }

    func shownPath(_ inode: InodeID) -> String {
        guard let names = try? volume.engine.mount.catalog.read({ try $0.path(of: inode) }) else { return mountPoint }
        return domainPaths.shown(names)
    }

    func change(_ item: ItemRecord) -> PendingChange {
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
        let refusal = Refusal(item.failure)
        return PendingChange(
            path: item.inode.map(shownPath) ?? shownPath(item), what: what,
            error: item.failure.map { failure in
                let hint = refusal == nil ? FailureTable.hint(sending: failure.code) : nil
                return failure.message + (hint.map { "; \($0)" } ?? "")
            },
            nextTry: item.failure.map { Double($0.retryAt.nanoseconds) / 1e9 }, remedy: refusal?.remedy)
    }
}
