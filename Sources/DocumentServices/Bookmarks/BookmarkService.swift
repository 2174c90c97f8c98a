package import ControlAPI
package import FileProvider
package import Foundation
import ItemCatalog
import SyncEngine
import Trees
import UniformTypes
package import Volume
import Waiting

/// Creates and resolves bookmarks for programs, and gives access to granted items.
package final class BookmarkService: Sendable {
    private let volume: Volume
    private let domain: any FileProviderDomain
    private let domainName: String
    private let mountPoint: String
    private let paths: DomainPaths
    private let seal: BookmarkSeal
    private let grants: GrantBook
    private let scopes: ScopedFolders
    private let commands = BookmarkService.commands()

    private var catalog: Catalog { volume.engine.mount.catalog }
    private var client: StoreClient { volume.engine.client }

    package init(
        volume: Volume, domain: any FileProviderDomain, name: String, mountPoint: String, stateDirectory: String,
        scopes: ScopedFolders
    ) throws {
        self.volume = volume
        self.domain = domain
        self.mountPoint = mountPoint
        paths = DomainPaths(volume, mountPoint: mountPoint)
        domainName = name
        self.scopes = scopes
        seal = try BookmarkSeal(keptAt: stateDirectory + "/" + KeptFiles.key)
        grants = try GrantBook(keptAt: stateDirectory + "/" + KeptFiles.grants)
    }

    // MARK: Bookmarks

    /// - Returns: the bookmark. Only its grant is stored on the disk.
    package func make(_ request: BookmarkRequest) async throws -> Data {
        let names = request.path.names
        let record = try await paths.resolve(request.path)
        let identifier = try await identifier(of: names)
        let now = Date().timeIntervalSince1970
        var grant: Grant?
        if let wish = request.grant {
            guard !names.isEmpty else {
                throw ControlFailure(
                    code: "path",
                    message:
                        "\(mountPoint): a right to a whole domain cannot be given; name a document or a folder in it")
            }
            if let until = wish.until, until <= now {
                throw ControlFailure(
                    code: "expired",
                    message: "\(paths.shown(names)): the right would end in the past; choose a later end")
            }
            grant = Grant(
                id: UUID(), identifier: identifier.rawValue, path: request.path, program: wish.program,
                isWritable: wish.isWritable && !volume.engine.mount.isReadOnly, created: now, until: wish.until)
        }
        let bookmark = try seal.seal(
            BookmarkPayload(
                domain: domainName, domainID: seal.domainID(), identifier: identifier.rawValue,
                path: PathBytes(joining: names), keys: request.values,
                values: values(record, names).only(request.values), created: now, grant: grant?.id,
                isWritable: grant?.isWritable))
        if let grant { try await onWorkers { [grants] in try grants.add(grant) } }
        return bookmark
    }

    /// Renews a bookmark with the item's current values, and with the same grant if that is still valid.
    package func renew(_ bookmark: Data) async throws -> Data {
        var payload = try open(bookmark)
        let found = try await find(payload)
        payload.identifier = try await identifier(of: found.names).rawValue
        payload.path = PathBytes(joining: found.names)
        payload.values = values(found.record, found.names).only(payload.keys)
        payload.created = Date().timeIntervalSince1970
        payload.domain = domainName
        if let id = payload.grant {
            let (identifier, path) = (payload.identifier, payload.path)
            let isGood = try await onWorkers { [grants] in try grants.update(id, identifier, path) }
            if !isGood { payload.grant = nil }
        }
        return try seal.seal(payload)
    }

    /// Verifies that this domain made the bookmark and that it is unmodified.
    private func open(_ bookmark: Data) throws -> BookmarkPayload {
        do { return try seal.open(bookmark) } catch let failure as ControlFailure {
            guard failure.code == ControlFailure.notMine, let other = BookmarkPayload(unchecked: bookmark),
                other.domain == domainName
            else { throw failure }
            throw ControlFailure(
                code: ControlFailure.otherKey,
                message:
                    "\(mountPoint)/\(other.path): the bookmark is from another machine, or from before this machine's "
                    + "data of the domain \(domainName) was removed; make a new one")
        }
    }

    package func resolve(_ bookmark: Data) async throws -> ResolvedBookmark {
        let payload = try open(bookmark)
        let found = try await find(payload)
        var stale: Set<String> = []
        if PathBytes(joining: found.names) != payload.path { stale.insert("path") }
        let current = values(found.record, found.names).only(payload.keys)
        stale.formUnion(current.differences(from: payload.values).map(\.rawValue))
        // (The store may have given the item an identifier of its own since.)
        if let identifier = try? await identifier(of: found.names), identifier.rawValue != payload.identifier {
            stale.insert("identifier")
        }
        let grant = payload.grant.flatMap { grants[$0] }
        if payload.grant != nil && grant == nil { stale.insert("grant") }
        return ResolvedBookmark(
            path: PathBytes(joining: found.names), stale: stale, values: current,
            grant: grant.map { status($0, names: found.names) })
    }

    private struct Found {
        var names: [Filename]
        var record: InodeRecord
    }

    private func find(_ payload: BookmarkPayload) async throws -> Found {
        do {
            let url = try await url(of: ItemIdentifier(payload.identifier))
            // (Checked, because the provider may return a URL outside the domain.)
            let names = try domain.relativePath(of: url)
            return Found(names: names, record: try await paths.resolve(PathBytes(joining: names)))
        } catch let error as FileProviderError {
            let name = mountPoint + "/" + payload.path.string
            if error.code == .noSuchItem {
                throw ControlFailure(
                    code: "noSuchItem", message: "\(name): the bookmark's item is gone; this was its last place")
            }
            throw ControlFailure(code: "provider", message: "\(name): cannot be found now: \(error.message)")
        }
    }

    private func identifier(of names: [Filename]) async throws -> ItemIdentifier {
        let url = domain.url(relativePath: names)
        do throws(FileProviderError) {
            return try await client.persistentIdentifierForItem(at: url, in: domain)
        } catch {
            // Some providers know only their store's identifiers, and an item that is not uploaded yet has none.
            if error.code == .noSuchItem, let own = try? await domain.catalogIdentifierForItem(at: url) { return own }
            throw ControlFailure(code: "provider", message: "\(paths.shown(names)): cannot be named: \(error.message)")
        }
    }

    private func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
        do throws(FileProviderError) {
            return try await client.urlForItem(withPersistentIdentifier: identifier, in: domain)
        } catch {
            if error.code == .noSuchItem, let url = try? await domain.urlForItem(withCatalogIdentifier: identifier) {
                return url
            }
            throw error
        }
    }

    private func values(_ record: InodeRecord, _ names: [Filename]) -> ResourceValues {
        let name = names.last?.string ?? (mountPoint as NSString).lastPathComponent
        let type: UniformType
        switch record.kind {
        case .folder: type = .folder
        case .link: type = .symbolicLink
        default: type = UniformTypeTable.system.type(ofFilename: name)
        }
        // Use the values that stat(2) returns: the catalog lacks what a program is writing now.
        let now = (try? volume.inspect(record.id).0) ?? record
        return ResourceValues(
            name: name, size: record.isFolder ? nil : now.size, type: type.identifier,
            contentModificationDate: now.modified.secondsSince1970,
            creationDate: now.born.secondsSince1970)
    }

    // MARK: Grants

    package func allGrants() async -> [GrantStatus] {
        var statuses: [GrantStatus] = []
        for grant in grants.all {
            let url = try? await url(of: ItemIdentifier(grant.identifier))
            statuses.append(status(grant, names: url.flatMap { try? domain.relativePath(of: $0) }))
        }
        return statuses
    }

    /// Revokes all grants; see ``revoke(_:)``.
    package func revokeAll() async throws -> [GrantStatus] {
        let all = await allGrants()
        let revoked = Set(try await onWorkers { [grants] in try grants.removeAll() })
        for id in revoked { await scopes.end(grant: id) }
        return all.filter { UUID(uuidString: $0.id).map(revoked.contains) == true }
    }

    /// Programs that use the grant lose access before this returns.
    package func revoke(_ id: String) async throws -> GrantStatus {
        guard let uuid = UUID(uuidString: id), let grant = try await onWorkers({ [grants] in try grants.remove(uuid) })
        else { throw ControlFailure(code: "noSuchGrant", message: "\(id): no such right, or no longer") }
        let status = status(grant, names: nil)
        await scopes.end(grant: uuid)
        return status
    }

    /// False on a read-only domain.
    private func isWritable(_ grant: Grant) -> Bool { grant.isWritable && !volume.engine.mount.isReadOnly }

    private func status(_ grant: Grant, names: [Filename]?) -> GrantStatus {
        GrantStatus(
            id: grant.id.uuidString, path: names.map { paths.shown($0) } ?? mountPoint + "/" + grant.path.string,
            program: grant.program, isWritable: isWritable(grant), created: grant.created, until: grant.until,
            users: scopes.users(of: grant.id))
    }

    // MARK: Access

    /// Shows the item in a folder of its own until the task is cancelled or the grant ends.
    ///
    /// - Parameter peer: the asking process, as the kernel reports it.
    package func access(_ request: AccessRequest, from peer: PeerProcess, _ listener: ControlListener) async
        -> ControlResponse
    {
        do {
            let payload = try open(request.bookmark)
            let name = mountPoint + "/" + payload.path.string
            guard let id = payload.grant else {
                throw ControlFailure(
                    code: "notGranted", message: "\(name): the bookmark carries no right; ask for one with a right")
            }
            guard let grant = grants[id] else {
                throw ControlFailure(
                    code: "notGranted",
                    message: "\(name): the right was revoked, or has expired; ask for a new bookmark")
            }
            if let allowed = grant.program { try await check(request, from: peer, allowed, name) }
            let found = try await find(payload)
            let scope = try await scopes.begin(
                found.record.id, grant: id, user: request.pid, isWritable: isWritable(grant))
            var answer = ControlResponse.done
            do {
                try await listener.send(.access(scope.access))
                // (A revocation may have missed this scope, which was not in the list yet.)
                if !grants.has(id) { await scopes.end(grant: id) }
                switch await scope.ended(by: grant.until) {
                case .revoked: throw ControlFailure(code: "revoked", message: "\(name): the right was revoked")
                case .expired: throw ControlFailure(code: "expired", message: "\(name): the right has expired")
                case .cancelled: break
                }
            } catch {
                answer = .failure(error as? ControlFailure ?? ControlFailure(code: "cancelled", message: "\(error)"))
            }
            // (Finish the cleanup even if this task is cancelled.)
            await Task { [scopes] in await scopes.end(scope) }.value
            return answer
        } catch {
            return .failure(
                error as? ControlFailure ?? ControlFailure(code: "refused", message: "\(mountPoint): \(error)"))
        }
    }

    /// Checks the program: `hydrant` itself reports the program that it will run; the kernel reports all others.
    private func check(
        _ request: AccessRequest, from peer: PeerProcess, _ allowed: String, _ name: String
    ) async throws {
        let executable = peer.executable
        let path = executable?.path
        let program = path.map(commands.contains) == true ? request.program : path
        guard program == allowed else {
            throw ControlFailure(
                code: "notGranted",
                message: "\(name): only \(allowed) may use the right, not \(program ?? "this program")")
        }
        // Check this last, and only for the allowed program: the name of any other may lead anywhere.
        guard let executable, await Self.isNamedFile(executable) else {
            throw ControlFailure(
                code: "notGranted",
                message: "\(name): only \(allowed) may use the right, and the calling program is not, or no "
                    + "longer, the file \(path ?? allowed); if a newer file has replaced it, start the program again")
        }
    }

    /// Uses its own thread: the path may be in a mount that does not answer, even this daemon's.
    private static func isNamedFile(_ executable: PeerProcess.Executable) async -> Bool {
        let answer = FirstAnswer<Bool>()
        Thread { answer.resume(executable.isNamedFile) }.start()
        return await answer.wait(within: .seconds(10), otherwise: false)
    }

    private static func executable(of pid: Int32) -> String? {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
        // A program file that was replaced since the program started has this suffix (proc(5)).
        let gone = " (deleted)"
        return path.map { $0.hasSuffix(gone) ? String($0.dropLast(gone.count)) : $0 }
    }

    /// The paths of the `hydrant` command: this executable, unless it is a provider's own program, and the parent's
    /// executable.
    private static func commands() -> Set<String> {
        Set(
            [getpid(), getppid()].compactMap { executable(of: $0) }.filter {
                ($0 as NSString).lastPathComponent == "hydrant"
            })
    }

    /// The path in the domain for a name in a scoped folder; nothing may exist there yet.
    package func place(of name: PathBytes, inScope token: String) throws -> PathBytes {
        guard let folder = scopes.folder(token) else {
            throw ControlFailure(code: "path", message: "\(token): no such scoped folder, or no longer")
        }
        return try PathBytes(joining: folder.path(of: Filename(bytes: name.bytes)))
    }

    // MARK: Helpers

    private func onWorkers<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await Task(executorPreference: volume.engine.mount.workers) { try body() }.value
    }
}
