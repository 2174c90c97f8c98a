import FileProvider
import HTTPTransport
import Logging
import Synchronization
import Waiting

/// Habits of a server, or of a proxy before it, that none of its answers tells: tested once, with a document of our
/// own, in the folder where it matters, before it matters.
final class ServerHabits: Sendable {
    private struct Known {
        var kept: [NamePart: Bool] = [:]
        var locksHold: Bool?
        var lacking: Set<MarkList> = []
    }
    private let known = Mutex(Known())
    private let turns = AsyncLocks<Int>()

    fileprivate func kept(_ part: NamePart) -> Bool? { known.withLock { $0.kept[part] } }
    fileprivate func note(_ part: NamePart, isKept: Bool) { known.withLock { $0.kept[part] = isKept } }
    fileprivate var locksHold: Bool? { known.withLock { $0.locksHold } }
    fileprivate func note(locksHold: Bool) { known.withLock { $0.locksHold = locksHold } }

    /// Lists that tell of changes of items' marks.
    enum MarkList { case favorites, tags }

    func lacks(_ list: MarkList) -> Bool { known.withLock { $0.lacking.contains(list) } }
    func noteLacking(_ list: MarkList) { known.withLock { _ = $0.lacking.insert(list) } }

    /// Runs one test at a time; others wait.
    fileprivate func alone<T: Sendable>(
        _ body: () async throws(FileProviderError) -> T
    ) async throws(FileProviderError) -> T {
        try await turns.during(0, orThrow: FileProviderError(.cancelled, "given up"), body)
    }
}

extension WebDAVProvider {
    // MARK: Names

    /// Called before an item gets a name: some servers would put it under another name, over an existing item.
    ///
    /// - Throws: ``FileProviderError/Code/invalidName``.
    func checkTarget(_ name: Filename, in folder: HTTPLocation) async throws(FileProviderError) {
        try checkRules(name)
        guard let part = try await alteredPart(of: name, in: folder) else { return }
        throw FileProviderError(
            .invalidName,
            "“\(name)”: this server alters names with \(part.text); rename it")
    }

    /// The part of a name that the server would not keep; nil: none.
    func alteredPart(of name: Filename, in folder: HTTPLocation) async throws(FileProviderError) -> NamePart? {
        let parts = NamePart.all(in: name.bytes)
        // (sabre/dav keeps names, and a deleted test document would go to the trash.)
        guard !parts.isEmpty, try await probe.traits().family != .ownCloud else { return nil }
        for part in parts {
            if try await !isKept(part, name, folder) { return part }
        }
        return nil
    }

    private func isKept(
        _ part: NamePart, _ name: Filename, _ folder: HTTPLocation
    ) async throws(FileProviderError) -> Bool {
        if let isKept = habits.kept(part) { return isKept }
        return try await habits.alone { () async throws(FileProviderError) in
            if let isKept = habits.kept(part) { return isKept }
            let isKept = try await tryOut(part, name, folder)
            logger.info("whether the server keeps names", metadata: ["part": "\(part.text)", "isKept": "\(isKept)"])
            habits.note(part, isKept: isKept)
            return isKept
        }
    }

    private func tryOut(
        _ part: NamePart, _ name: Filename, _ folder: HTTPLocation
    ) async throws(FileProviderError) -> Bool {
        let (source, stem) = (folder.appending(Leftover.tryName().bytes), Leftover.tryName().string)
        let target = folder.appending(part.name(after: stem))
        try await putOurs(source, name)
        do throws(FileProviderError) {
            let outcome = try await client.move(source, to: target)
            guard outcome.isSuccess else {
                await remove(source)
                // The server refuses such names openly, and will refuse this one.
                if 400..<423 ~= outcome.status { return true }
                throw refusal(outcome.status, name)
            }
            let answer = try await client.propfind(target, [.resourceType, .contentLength, .lastModified])
            let found = answer.flatMap { target.resolve($0.href)?.components.last }
            let isKept = found == target.components.last
            if isKept {
                await remove(target)
            } else {
                for altered in part.alterations(after: stem) { await remove(folder.appending(altered)) }
            }
            return isKept
        } catch {
            await remove(source)
            throw error
        }
    }

    /// - Throws: when the server refuses it.
    private func putOurs(_ place: HTTPLocation, _ name: Filename) async throws(FileProviderError) {
        let headers = [("If-None-Match", "*"), ("Content-Type", "application/octet-stream")]
        let outcome = try await client.change(
            HTTPRequest("PUT", place, headers: headers, body: .bytes(Array("Hydrant".utf8))), in: [place.folder])
        if !outcome.isSuccess { throw refusal(outcome.status, name) }
    }

    // MARK: Locks

    /// Whether a lock survives a move over the locked place: otherwise another client may make a change in between.
    func locksHold(in folder: HTTPLocation, _ name: Filename) async throws(FileProviderError) -> Bool {
        let traits = try await probe.traits()
        guard traits.hasLocks else { return false }
        if traits.family == .apache { return true }
        if let locksHold = habits.locksHold { return locksHold }
        return try await habits.alone { () async throws(FileProviderError) in
            if let locksHold = habits.locksHold { return locksHold }
            let locksHold = try await tryOutLocks(folder, name)
            logger.info(
                "whether the server's locks survive a move", metadata: ["url": "\(root)", "locksHold": "\(locksHold)"])
            habits.note(locksHold: locksHold)
            return locksHold
        }
    }

    private func tryOutLocks(_ folder: HTTPLocation, _ name: Filename) async throws(FileProviderError) -> Bool {
        let source = folder.appending(Leftover.tryName().bytes)
        let target = folder.appending(Leftover.tryName().bytes)
        do throws(FileProviderError) { try await putOurs(source, name) } catch {
            if error.code == .serverUnreachable || error.code == .notAuthenticated { throw error }
            // It takes only documents of some kinds: not known.
            return false
        }
        do throws(FileProviderError) {
            guard let lock = try await WriteLock.take(target, client, isAlone: false) else {
                await remove(source)
                return false
            }
            let outcome: DAVClient.Outcome
            do throws(FileProviderError) {
                outcome = try await client.move(source, to: target, overwrites: true, [lock.condition()])
            } catch {
                await lock.unlock(client)
                throw error
            }
            let isHeld = await lock.unlock(client) && outcome.isSuccess
            await remove(outcome.isSuccess ? target : source)
            if !outcome.isSuccess, lock.madeDocument { await remove(target) }
            return isHeld
        } catch {
            await remove(source)
            throw error
        }
    }
}
