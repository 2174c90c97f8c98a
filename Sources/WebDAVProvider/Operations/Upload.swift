import FileProvider
import HTTPTransport
import Hashing

/// A document's contents on their way to a place on the server, all or nothing.
struct Upload {
    let provider: WebDAVProvider
    let traits: ServerTraits
    let contents: any ContentSource
    let modified: FileTime
    let location: HTTPLocation
    let place: Place
    var client: DAVClient { provider.client }
    /// A tag that Apache calls weak, in the first second after a change, satisfies no condition: the upload waits until
    /// it is strong.
    static let weakTag = 12
    static let weakPause = Duration.milliseconds(250)

    // MARK: Operations

    /// - Returns: nil: there is no document at this place.
    func replace(_ identifier: ItemIdentifier, _ base: Validator) async throws(FileProviderError) -> Item? {
        if traits.replacesAtOnce { return try await replaceAtOnce(identifier, base) }
        try await provider.checkTarget(place.name, in: folder)
        for attempt in 0... {
            let isLast = attempt == Self.weakTag
            // On a server that ignores conditions, the version is checked right before.
            let status = try await send(replacing: base, isLast)
            switch status {
            case .seen(let resource): return WebDAVProvider.item(identifier, place, resource)
            case .done(let validator):
                // (A server cluster may show the old version for a moment.)
                let shown = try await there { $0.validator != base }
                let item = WebDAVProvider.item(identifier, place, shown)
                return try await check(item, validator, provider.mismatch)
            case .isUnmet:
                guard let resource = try await client.resource(location),
                    let item = try await provider.item(identifier, resource)
                else { return nil }
                guard !resource.isFolder, resource.validator == base, !isLast else { throw provider.mismatch(item) }
                try await pause()
            case .refused(let status):
                guard let resource = try await client.resource(location),
                    let item = try await provider.item(identifier, resource)
                else { return nil }
                // Another client was quicker, and the server failed because of it.
                if resource.isFolder || resource.validator != base { throw provider.mismatch(item) }
                throw provider.refusal(status, place.name)
            }
        }
        return nil
    }

    func create() async throws(FileProviderError) -> Item {
        if traits.replacesAtOnce { return try await createAtOnce() }
        try await provider.checkTarget(place.name, in: folder)
        for attempt in 0... {
            switch try await traits.locksFolders ? putInTurn() : send(replacing: nil, false) {
            case .seen(let resource):
                let identifier = try await provider.identifier(of: resource, at: place)
                return WebDAVProvider.item(identifier, place, resource)
            case .done(let validator):
                let resource = try await there()
                let identifier = try await provider.identifier(of: resource, at: place)
                return try await check(WebDAVProvider.item(identifier, place, resource), validator) { item in
                    FileProviderError(.filenameCollision, "“\(place.name)”: exists already", item: item)
                }
            case .isUnmet:
                // Apache also answers this when it has lost our lock.
                if attempt < Self.weakTag, try await !provider.isTaken(location) {
                    try await pause()
                    continue
                }
                throw try await provider.collision(place, location)
            case .refused(let status):
                try await provider.checkFolder(place.parent, folder)
                if try await provider.isTaken(location) { throw try await provider.collision(place, location) }
                throw provider.refusal(status, place.name)
            }
        }
        throw provider.refusal(412, place.name)
    }

    // MARK: Steps

    private enum Status {
        /// Done; with the new version, where the server returned it.
        case done(Validator?)
        /// The sent contents were seen there while no other client could replace them.
        case seen(DAVResource)
        case isUnmet
        case refused(Int)
    }

    /// Creates a document while no other client puts anything into the folder.
    private func putInTurn() async throws(FileProviderError) -> Status {
        guard contents.size <= traits.mostUnderLock else { return try await staged(replacing: nil, false) }
        let status = try await client.turns.during(location, client) { lock throws(FileProviderError) -> Status? in
            guard let lock else { return nil }
            let status = try await put([("If-None-Match", "*"), lock.condition()])
            guard case .done = status else { return status }
            let sent = ContinuousClock.now
            let there = try await seen(replacing: nil)
            // Another client may already have seen and replaced it.
            return sent.duration(to: .now) < Self.unseen ? .seen(there) : .done(nil)
        }
        if let status { return status }
        return try await send(replacing: nil, false)
    }
    /// No client sees, locks and replaces a new document in less time.
    private static let unseen = Duration.seconds(1)

    /// - Parameters:
    ///   - base: the version that may be replaced; nil: none.
    ///   - isLast: the server ignores conditions: the version is checked right before.
    private func send(replacing base: Validator?, _ isLast: Bool) async throws(FileProviderError) -> Status {
        let condition = base?.condition ?? ("If-None-Match", "*")
        guard contents.size <= traits.mostUnderLock, !isLast, let lock = try await takeLock() else {
            return try await staged(replacing: base, isLast)
        }
        do throws(FileProviderError) {
            var status = try await put([condition, lock.condition()])
            if case .done = status { status = .seen(try await seen(replacing: base)) }
            await lock.release(client)
            return status
        } catch {
            await lock.release(client)
            throw error
        }
    }

    private func takeLock() async throws(FileProviderError) -> WriteLock? {
        try await WriteLock.take(location, client, isAlone: traits.mixesLocksUp)
    }

    /// Under the lock, new contents there are the sent ones, if the server has taken them at all.
    private func seen(replacing base: Validator?) async throws(FileProviderError) -> DAVResource {
        let isSent = { (there: DAVResource) in there.size == contents.size && there.validator != base }
        if let there = try await client.sights.resource(location, client), isSent(there) { return there }
        guard let there = try await provider.shown(location, within: Self.underLock, questions: 1, isSent) else {
            throw FileProviderError(.cannotSynchronize, "“\(place.name)”: the server has not stored the upload")
        }
        return there
    }
    /// The time that other clients may wait.
    private static let underLock = Duration.seconds(3)

    var folder: HTTPLocation { location.folder }

    private func put(
        _ conditions: [(name: String, value: String)], at place: HTTPLocation? = nil
    ) async throws(FileProviderError) -> Status {
        var headers = conditions
        headers.append(("Content-Type", "application/octet-stream"))
        let request = HTTPRequest(
            "PUT", place ?? location, headers: headers, body: .content(contents, 0..<contents.size), isTransfer: true)
        // A staged document is new in the folder.
        let outcome = try await place == nil ? client.send(request) : client.change(request, in: [folder])
        return status(outcome.status, outcome.entityTag)
    }

    private func status(_ status: Int, _ validator: Validator?) -> Status {
        switch status {
        case 200, 201, 204: .done(validator)
        case 412: .isUnmet
        default: .refused(status)
        }
    }

    /// Uploads to a document of its own, then moves it over the place.
    private func staged(replacing base: Validator?, _ isLast: Bool) async throws(FileProviderError) -> Status {
        let partial =
            traits.keepsPartOfUploads && contents.size >= PartialUpload.smallest ? try await PartialUpload(self) : nil
        let stage = partial?.stage ?? folder.appending(Leftover.uploadName().bytes)
        do throws(FileProviderError) {
            let status = if let partial { status(try await partial.send(), nil) } else { try await put([], at: stage) }
            guard case .done = status else {
                await provider.remove(stage)
                return status
            }
            let moved = try await moveInto(place: stage, base, isLast)
            if case .done(let validator) = moved {
                if let validator { provider.recent.note(validator, at: location) }
                return moved
            }
            await provider.remove(stage)
            return moved
        } catch {
            // The part that has arrived need not be sent again (a listing a day later deletes it), unless the document has
            // changed meanwhile: the source says so, and the upload itself has not been given up.
            let isOutdated = error.code == .cancelled && !Task.isCancelled
            if partial == nil || isOutdated { await provider.remove(stage) }
            throw error
        }
    }

    private func moveInto(
        place stage: HTTPLocation, _ base: Validator?, _ isLast: Bool
    ) async throws(FileProviderError) -> Status {
        var sent = try await stored(stage)
        // A tag that counts whole seconds may equal that of other contents from just before.
        while sent.validator == base || provider.recent.has(sent.validator, at: location) {
            try await pause()
            guard case .done = try await put([], at: stage) else { break }
            sent = try await stored(stage)
        }
        if base == nil, traits.locksFolders {
            return try await client.turns.during(location, client) { _ throws(FileProviderError) in
                // (The move creates it from there.)
                try await moveOver(stage, nil, isLast, sent, nil)
            }
        }
        guard try await provider.locksHold(in: folder, place.name), let lock = try await takeLock() else {
            return try await moveOver(stage, base, isLast, sent, nil)
        }
        do throws(FileProviderError) {
            let status = try await moveOver(stage, base, isLast, sent, lock)
            if case .done = status { await lock.release(client) } else { await lock.release(client, removing: true) }
            return status
        } catch {
            await lock.release(client, removing: true)
            throw error
        }
    }

    private func moveOver(
        _ stage: HTTPLocation, _ base: Validator?, _ isLast: Bool, _ sent: DAVResource, _ lock: WriteLock?
    ) async throws(FileProviderError) -> Status {
        let isHeld = lock?.madeDocument == true
        var conditions: [(name: String, value: String)] = []
        let isChecked = traits.checksTargets && !isLast
        if let lock {
            conditions.append(lock.condition(isChecked ? base : nil))
        } else if isChecked, let condition = base?.condition(at: location) {
            conditions.append(condition)
        }
        if !isChecked || base == nil {
            let current = try await client.resource(location)
            // The empty document of a lock may be replaced.
            guard isHeld ? base == nil : current?.validator == base, current?.isFolder != true else { return .isUnmet }
        }
        let outcome = try await client.move(stage, to: location, overwrites: base != nil || isHeld, conditions)
        switch outcome.status {
        case 200, 201, 204: return .done(sent.validator)
        case 412: return .isUnmet
        default: return .refused(outcome.status)
        }
    }

    private func stored(_ stage: HTTPLocation) async throws(FileProviderError) -> DAVResource {
        let sent = try await provider.shown(stage) { $0.size == contents.size }
        guard let sent else {
            throw FileProviderError(.cannotSynchronize, "“\(place.name)”: the server has not kept all of it")
        }
        return sent
    }

    func pause() async throws(FileProviderError) {
        do { try await Task.sleep(for: Self.weakPause) } catch {
            throw FileProviderError(.cancelled, "“\(place.name)”: the upload was given up")
        }
    }

    // MARK: The current state

    func there(_ isNew: (DAVResource) -> Bool = { _ in true }) async throws(FileProviderError) -> DAVResource {
        if let resource = try await client.sights.resource(location, client), isNew(resource) { return resource }
        if let resource = try await provider.shown(location, isNew) { return resource }
        throw FileProviderError(
            .cannotSynchronize, "“\(place.name)”: was uploaded, but the server does not list it; Hydrant looks again")
    }

    /// Checks that the item has the sent contents: another client may have replaced them since.
    private func check(
        _ item: Item, _ validator: Validator?, _ other: (Item) -> FileProviderError
    ) async throws(FileProviderError) -> Item {
        if let validator, item.version.content == validator.version { return item }
        guard item.kind.isDocument, item.size == contents.size, try await isSame(item) else { throw other(item) }
        return item
    }

    /// Downloads the contents again and compares.
    private func isSame(_ item: Item) async throws(FileProviderError) -> Bool {
        guard item.size > 0 else { return true }
        let sink = HashingSink()
        do throws(FileProviderError) {
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        } catch {
            if error.code == .versionMismatch { return false }
            throw error
        }
        guard let own = try await contents.digest(SHA256.self, first: contents.size) else { return false }
        return sink.digest(size: contents.size) == Array(own)
    }
}
