package import ControlAPI
import Coordination
import FileProvider
import Foundation
import ItemCatalog
import Logging
import SyncEngine
import Synchronization
import Trees
package import Volume

/// Handles the claims and presenters of programs for the items of a mounted domain.
package final class CoordinationService: Sendable {
    private let volume: Volume
    private let paths: DomainPaths
    private let arbiter: Arbiter
    private let watch: PresenterWatch
    private let bound = BoundProcesses()
    /// The folder for snapshots of items to be uploaded, with a subfolder for each claim.
    private let snapshots: String
    private let requests = Mutex<[ClaimID: CoordinationRequest]>([:])

    private var engine: SyncEngine { volume.engine }
    private var catalog: Catalog { engine.mount.catalog }

    /// - Parameter patience: seconds that a presenter has to answer.
    package init(volume: Volume, mountPoint: String, stateDirectory: String, patience: Double) {
        self.volume = volume
        paths = DomainPaths(volume, mountPoint: mountPoint)
        snapshots = stateDirectory + "/snapshots"
        // Remove what a killed daemon left.
        try? FileManager.default.removeItem(atPath: snapshots)
        let (catalog, logger) = (volume.engine.mount.catalog, volume.engine.mount.logger)
        arbiter = Arbiter(
            patience: .seconds(patience), edition: { catalog.edition },
            locate: { ClaimTarget(locating: $0, in: catalog) },
            gaveUp: { presenter, kind in
                logger.warning(
                    "a presenter did not answer in time; the claim does not wait for it",
                    metadata: ["presenter": "\(presenter.id.rawValue)", "question": "\(kind.rawValue)"])
            })
        watch = PresenterWatch(catalog: catalog, mountPoint: mountPoint)
        volume.engine.onActivity { [weak watch] in watch?.wake() }
        watch.onActivity { [weak self] in self?.itemsMoved() }
    }

    private func itemsMoved() {
        if requests.withLock({ $0.isEmpty }) { return }
        Task { [arbiter] in await arbiter.itemsMoved() }
    }

    // MARK: Claims

    /// Holds a claim until the task is cancelled and the bound processes have ended.
    package func coordinate(_ request: CoordinationRequest, _ listener: ControlListener) async -> ControlResponse {
        guard UUID(uuidString: request.id) != nil else {
            return .failure(ControlFailure(code: "badClaim", message: "a claim's identifier is a UUID"))
        }
        let id = ClaimID(request.id)
        let isNew = requests.withLock { requests in
            if requests[id] != nil { return false }
            requests[id] = request
            return true
        }
        guard isNew else { return .failure(failure(CoordinationError.duplicate)) }
        watch.count(1)
        defer {
            requests.withLock { $0[id] = nil }
            watch.count(-1)
        }
        // (Look the process up now: another one may get the number later.)
        let process = ServingProcess(pid: request.pid)
        let claim: Claim
        do {
            claim = try await self.claim(request)
            try await arbiter.claim(claim)
        } catch {
            return .failure(failure(error))
        }
        let held = sentByOthers(claim)
        engine.holdUploads(of: held)
        watch.suppress(id, claim)
        var answer = ControlResponse.done
        do {
            try await listener.send(.granted(try await prepare(request, claim)))
            while true { try await Task.sleep(for: .seconds(86_400)) }
        } catch {
            if !Task.isCancelled { answer = .failure(failure(error)) }
        }
        // (Finish the cleanup even if this task is cancelled.)
        await Task { [self] in
            await bound.wait(for: id)
            snapshots(of: id).remove()
            watch.resume(id)
            await arbiter.end(id)
        }.value
        if !held.isEmpty {
            Task { [engine] in await engine.releaseUploads(of: held) { process?.isAlive != true } }
        }
        return answer
    }

    /// The claim does not end before this process ends.
    package func bind(_ claim: String, to pid: Int32) -> ControlResponse {
        guard let process = ServingProcess(pid: pid), process.isAlive else {
            return .failure(ControlFailure(code: "noSuchProcess", message: "process \(pid) does not exist"))
        }
        guard requests.withLock({ $0[ClaimID(claim)] != nil }) else {
            return .failure(ControlFailure(code: "noSuchClaim", message: "\(claim): no such claim, or no longer"))
        }
        bound.add(ClaimID(claim), process)
        requests.withLock { $0[ClaimID(claim)]?.programPID = pid }
        return .done
    }

    package func claims() async -> [ClaimStatus] {
        let waits = await arbiter.waits
        let requests = requests.withLock { $0 }
        return await arbiter.overview().compactMap { claim, isGranted in
            guard let request = requests[claim.id] else { return nil }
            let items = zip(request.intents, claim.intents).map {
                (isWriting: $0.isWriting, path: paths.shown(path(of: $1.subject) ?? $0.path))
            }
            return ClaimStatus(
                id: request.id, purpose: request.purpose, pid: request.programPID ?? request.pid,
                program: request.program, isGranted: isGranted, reading: items.filter { !$0.isWriting }.map(\.path),
                writing: items.filter(\.isWriting).map(\.path),
                waitsFor: (waits.edges[claim.id] ?? []).map(\.rawValue).sorted(),
                within: request.within)
        }
    }

    private func claim(_ request: CoordinationRequest) async throws -> Claim {
        var intents: [ClaimIntent] = []
        for intent in request.intents {
            let subject = try await subject(at: intent.path, mayBeNew: intent.isWriting)
            intents.append(ClaimIntent(subject, otherwise: try name(at: intent.path), intent))
        }
        return Claim(
            id: ClaimID(request.id), purpose: request.purpose, within: Set(request.within.map { ClaimID($0) }),
            presenter: request.presenter.map { PresenterID($0) },
            holder: "\(request.program) (pid \(request.programPID ?? request.pid))",
            intents: intents)
    }

    /// Downloads the documents to be read, and returns the current path of each item.
    private func prepare(_ request: CoordinationRequest, _ claim: Claim) async throws -> CoordinationGrant {
        var places: [CoordinationGrant.Place] = []
        for (intent, granted) in zip(request.intents, claim.intents) {
            // (Another program's save may have replaced the item while the claim waited.)
            let subject = (try? catalog.read(granted.present)) ?? granted.subject
            guard let path = path(of: subject) ?? (intent.isWriting ? intent.path : nil) else {
                throw ControlFailure(
                    code: "path", message: "\(paths.shown(intent.path)): was deleted while the claim waited for it")
            }
            var place = CoordinationGrant.Place(path: path)
            if intent.options.contains(.forUploading) {
                place.snapshot = try await snapshot(subject, path, for: ClaimID(request.id), places.count)
            } else if let inode = try document(subject), !intent.isMetadataOnly,
                !intent.isWriting || intent.options.contains(.forMerging)
            {
                let asker = CausingProcess(pid: request.programPID ?? request.pid, name: request.program)
                do { _ = try await engine.download(inode, for: asker) } catch {
                    throw ControlFailure(code: "download", message: "\(paths.shown(path)): \(error)")
                }
            }
            places.append(place)
        }
        return CoordinationGrant(places: places)
    }

    // MARK: Resolving paths

    private func subject(at path: PathBytes, mayBeNew: Bool) async throws -> ClaimSubject {
        let names = path.names
        do {
            let inode = try await volume.resolve(names).id
            return try catalog.read { try ClaimSubject(inode, $0) }
        } catch let error as VolumeError {
            // A program can claim an item that it is about to create.
            if error.errno == ENOENT, mayBeNew, let name = names.last,
                let folder = try? await volume.resolve(names.dropLast()), folder.isFolder
            {
                return .name(folder: folder.id.rawValue, bytes: name.bytes)
            }
            throw ControlFailure(code: "path", message: "\(paths.shown(path)): \(error.message)")
        }
    }

    /// The subject by folder and name, in case the item is gone; nil: the path is the mount itself.
    private func name(at path: PathBytes) throws -> ClaimSubject? {
        let names = path.names
        guard let name = names.last, let folder = try? catalog.read({ try $0.resolve(names.dropLast()) }) else {
            return nil
        }
        return .name(folder: folder.id.rawValue, bytes: name.bytes)
    }

    /// The item's current path.
    private func path(of subject: ClaimSubject) -> PathBytes? {
        let names = try? catalog.read { reader in try subject.inode(reader).flatMap { try reader.path(of: $0) } }
        return names.map { PathBytes(joining: $0) }
    }

    private func document(_ subject: ClaimSubject) throws -> InodeID? {
        try catalog.read { reader in
            guard let id = try subject.inode(reader), try reader.inode(id).kind == .document else { return nil }
            return id
        }
    }

    private func failure(_ error: any Error) -> ControlFailure {
        switch error {
        case let failure as ControlFailure: failure
        case CoordinationError.wouldDeadlock(let holders):
            ControlFailure(
                code: "wouldDeadlock",
                message:
                    "this would wait for ever: \(holders.joined(separator: ", ")) would wait for it in turn; end your other "
                    + "claims and try again")
        case CoordinationError.duplicate:
            ControlFailure(code: "duplicate", message: "a claim with this identifier exists already")
        default: ControlFailure(code: "cancelled", message: "cancelled: \(error)")
        }
    }

    // MARK: Snapshots

    private func snapshots(of id: ClaimID) -> SnapshotFolder {
        SnapshotFolder(snapshots + "/" + id.rawValue, engine: engine)
    }

    /// The copy does not change with the item, and exists until the claim ends.
    private func snapshot(_ subject: ClaimSubject, _ path: PathBytes, for id: ClaimID, _ number: Int) async throws
        -> String
    {
        do {
            guard let inode = try catalog.read({ reader in try subject.inode(reader).map { try reader.inode($0) } })
            else {
                throw CatalogError(.notFound, "the item is gone")
            }
            return try await snapshots(of: id).copy(inode, called: path.names.last?.string ?? "domain", number: number)
        } catch {
            throw ControlFailure(code: "download", message: "\(paths.shown(path)): cannot be copied: \(error)")
        }
    }

    // MARK: The provider's own

    /// A program that writes with the provider's purpose uploads its changes itself.
    private func sentByOthers(_ claim: Claim) -> Set<SentByOthersRoot> {
        guard claim.purpose == engine.client.providerIdentifier else { return [] }
        let roots = claim.intents.filter { $0.isWriting && !$0.isMetadataOnly }.compactMap { intent in
            try? catalog.read { try SentByOthersRoot(intent.subject, $0) }
        }
        return Set(roots.compactMap { $0 })
    }

    // MARK: Presenters

    /// Sends messages to a presenter until the task is cancelled.
    package func present(_ request: PresenterRequest, _ listener: ControlListener) async -> ControlResponse {
        let id = PresenterID(request.id)
        do {
            let subject = try await subject(at: request.path, mayBeNew: false)
            let (messages, inbox) = AsyncStream<PresenterMessage>.makeStream(bufferingPolicy: .bufferingNewest(10_000))
            await arbiter.add(
                Presenter(id: id, purpose: request.purpose, subject: subject) { question in
                    inbox.yield(PresenterMessage(question))
                })
            watch.count(1)
            defer { watch.count(-1) }
            watch.add(id, request.purpose, subject) { inbox.yield($0) }
            let path = path(of: subject) ?? request.path
            inbox.yield(PresenterMessage(.registered, path: paths.shown(path), place: path))
            do { for await message in messages { try await listener.send(.presenter(message)) } } catch {}
            watch.remove(id)
            await Task { [arbiter] in await arbiter.remove(id) }.value
            return .done
        } catch {
            return .failure(failure(error))
        }
    }

    package func answer(_ presenter: String, _ question: Int) async -> ControlResponse {
        await arbiter.answer(question, by: PresenterID(presenter))
        return .done
    }
}
