import Dispatch
import FileProvider
import Synchronization

/// Earlier observations of documents, in this run or, from the catalog, in an earlier one.
///
/// With them the provider notices a change that keeps inode, size and date (``contents(of:at:_:comparing:)``), and
/// decides whether to believe a file whose attribute names an item (``identifier(claimed:own:of:at:)``).
final class Sightings: Sendable {
    /// A document at one moment.
    struct Sighting: Sendable {
        /// The identifier of the file itself, whatever its name and the item that it replaced.
        var file: ItemIdentifier
        var body: Body
        var changed: Timestamp
        /// A hash of all else that changes the change time: place, owner, mode, attributes.
        var dress: Int
        /// The time at which its contents were found to differ, with the same size and date.
        var racySince: Timestamp?
        /// The digest of its contents; nil: they were not read completely.
        var digest: ContentDigest?
        /// The number of the lookup: a lookup that began earlier may be older. 0: in an earlier run.
        var lookup: UInt64

        var contents: Contents { Contents(racySince: racySince, digest: digest) }
    }

    /// Properties of a document's contents besides size and date.
    struct Contents {
        /// The time since which they differ from earlier ones of the same inode, size and date; nil: they do not.
        var racySince: Timestamp?
        var digest: ContentDigest?
    }

    struct Place: Hashable {
        var folder: ItemIdentifier
        var name: [UInt8]
    }

    fileprivate struct Claim: Hashable {
        var inode: UInt64
        var device: UInt64
        var born: Timestamp?
        var identifier: ItemIdentifier

        init(_ identifier: ItemIdentifier, of file: FileStatus) {
            (inode, device, born, self.identifier) = (file.inode, file.device, file.born, identifier)
        }
    }

    fileprivate struct State {
        var seen = IdentifierTable<Sighting>()
        /// The last item of each file that is not an item of its own (it has several names, or has replaced another
        /// file).
        var items: [ItemIdentifier: ItemIdentifier] = [:]
        /// Our own files that were not yet seen in their place.
        var expected: [Body: ContentDigest] = [:]
        /// The folders whose known items are all in ``seen``.
        var known: Set<ItemIdentifier> = []
        /// Whether each file is the item that it claims to be.
        var claims: [Claim: Bool] = [:]
        /// Places where programs wrote, or closed after writing, since the last lookup.
        var written: Set<Place> = []
    }

    fileprivate enum Answer {
        case known(Contents)
        /// The contents must be compared with this digest first.
        case comparing(ContentDigest)

        var contents: Contents? { if case .known(let contents) = self { contents } else { nil } }
    }

    private let state = Mutex(State())
    private let lookups = Atomic<UInt64>(1)
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    private let user: UInt32
    private let index: StoreIndex
    /// Beyond so many, only the change time tells.
    private static let mostWritten = 65_536

    init(user: UInt32, index: StoreIndex) {
        self.user = user
        self.index = index
    }

    func serve(_ domain: (any FileProviderDomain)?) { self.domain.withLock { $0 = domain } }

    /// Called before a file is looked at.
    func beginLookup() -> UInt64 { lookups.add(1, ordering: .relaxed).newValue }

    // MARK: Contents

    /// inotify has reported writing.
    func noteWritten(_ place: Place) {
        state.withLock { state in
            if state.written.count >= Self.mostWritten { state.written = [] }
            state.written.insert(place)
        }
    }

    /// A change of a file's date or mode by us: its new change time does not count.
    func noteOwnChange(_ identifier: ItemIdentifier, _ file: FileStatus) {
        guard let body = Body(file) else { return }
        state.withLock { state in
            guard let before = state.seen[identifier] else { return }
            var now = before
            (now.body, now.changed) = (body, file.changed)
            if body != before.body { now.advance(from: before) }
            state.seen[identifier] = now
        }
    }

    /// The digest of contents that were read or written here: those of the item at `version`.
    func note(_ digest: ContentDigest, of identifier: ItemIdentifier, at version: ContentVersion) {
        state.withLock { state in
            guard let seen = state.seen[identifier], seen.body.version(racySince: seen.racySince) == version else {
                return
            }
            state.seen[identifier]?.digest = digest
        }
    }

    /// A file of ours is about to get its place, until ``expectNoMore(_:)``.
    func expect(_ digest: ContentDigest?, of ours: FileStatus) {
        guard let digest, let body = Body(ours) else { return }
        state.withLock { $0.expected[body] = digest }
    }

    func expectNoMore(_ ours: FileStatus) {
        guard let body = Body(ours) else { return }
        state.withLock { _ = $0.expected.removeValue(forKey: body) }
    }

    /// Records an observation, and returns which contents these are.
    ///
    /// With inode, size and date as before, a new change time (ctime) says that the contents may differ. Contents with
    /// a digest are compared with it. Others count as different, unless a rename, a link, another mode, owner,
    /// attribute or flag explains the change time and no program was seen writing. (Without a digest, a change of
    /// contents together with one of these is not noticed if it happened while nothing was watched.)
    ///
    /// - Parameter compare: compares the present contents with a digest. Called at most once, without locks.
    /// - Returns: nil when the contents changed during the comparison: the observation is outdated.
    func contents(
        of identifier: ItemIdentifier, at place: Place, _ seen: Sighting,
        comparing compare: (ContentDigest) -> Comparison
    ) -> Contents? {
        learn(place.folder)
        let (answer, wasWritten) = state.withLock { state in
            let wasWritten = state.written.remove(place) != nil
            return (state.take(seen, of: identifier, at: place, wasWritten), wasWritten)
        }
        guard case .comparing(let digest) = answer else { return answer.contents }
        let found = compare(digest)
        return state.withLock { state in
            if found == .changedMeanwhile {
                if wasWritten { state.written.insert(place) }
                return nil
            }
            return state.take(seen, of: identifier, at: place, wasWritten, (digest, found == .same)).contents
        }
    }

    var count: Int { state.withLock { $0.seen.count } }

    /// The item is gone. (A file of the item that has another name was seen under that name.)
    func forget(_ identifier: ItemIdentifier) {
        state.withLock { state in
            guard let last = state.seen[identifier] else { return }
            state.seen[identifier] = nil
            if state.items[last.file] == identifier { state.items[last.file] = nil }
        }
    }

    // MARK: Identity

    /// The item of a file whose attribute claims that it is `claimed`. Every user who may write to a file can write the
    /// attribute, so it is believed in three cases only: the file was the item when it was last seen, in any place; the
    /// file is in the item's place, where only users can put it who may replace the item anyway; or the item is
    /// unknown, and only the daemon's user may write to the file.
    func identifier(
        claimed: ItemIdentifier, own: ItemIdentifier, of file: FileStatus, at place: Place
    ) -> ItemIdentifier {
        let claim = Claim(claimed, of: file)
        if let isTrue = state.withLock({ $0.claims[claim] }) { return isTrue ? claimed : own }
        learn(place.folder)
        let isTrue = believes(claimed, own, file, place)
        state.withLock { $0.claims[claim] = isTrue }
        return isTrue ? claimed : own
    }

    /// A file of ours that is about to replace the item.
    func believe(_ identifier: ItemIdentifier, of file: FileStatus) {
        state.withLock { $0.claims[Claim(identifier, of: file)] = true }
    }

    private func believes(
        _ claimed: ItemIdentifier, _ own: ItemIdentifier, _ file: FileStatus, _ place: Place
    ) -> Bool {
        guard let body = Body(file) else { return false }
        if let seen = state.withLock({ $0.seen[claimed]?.body }), seen.isOfSameFile(as: body) { return true }
        if let there = index[claimed] { return there.parent == place.folder && there.name == place.name }
        let known = ask { domain async throws(FileProviderError) in try await domain.knownItems([claimed, own]) } ?? []
        // The claim was not believed before.
        if known.contains(where: { $0.identifier == own }) { return false }
        guard let item = known.first(where: { $0.identifier == claimed }) else {
            return file.owner == user && file.permissions & 0o022 == 0
        }
        if let last = Body.parse(item.contentVersion)?.body, last.isOfSameFile(as: body) { return true }
        return !item.isFolder && item.parentIdentifier == place.folder && item.filename.bytes == place.name
    }

    // MARK: The catalog

    /// Takes the catalog's knowledge of a folder's documents, once.
    private func learn(_ folder: ItemIdentifier) {
        guard domain.withLock({ $0 != nil }), state.withLock({ !$0.known.contains(folder) }) else { return }
        let items = ask { domain async throws(FileProviderError) in try await domain.knownItems(in: folder) }
        guard let items else { return }
        let sightings = items.compactMap { item in Sighting(item).map { (item.identifier, $0) } }
        state.withLock { state in
            state.known.insert(folder)
            for (identifier, sighting) in sightings where state.seen[identifier] == nil {
                state.seen[identifier] = sighting
            }
            for (identifier, sighting) in sightings where sighting.file != identifier {
                if state.items[sighting.file] == nil { state.items[sighting.file] = identifier }
            }
        }
    }

    /// Asks the domain, which answers from the catalog and never calls back. Only for the provider's own threads, which
    /// may block.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any FileProviderDomain) async throws(FileProviderError) -> Answer
    ) -> Answer? {
        guard let domain = domain.withLock({ $0 }) else { return nil }
        let reply = Reply<Answer>()
        Task {
            let answer = try? await question(domain)
            reply.answer.withLock { $0 = answer }
            reply.isThere.signal()
        }
        reply.isThere.wait()
        return reply.answer.withLock { $0 }
    }

    private final class Reply<Answer: Sendable>: Sendable {
        let answer = Mutex<Answer?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }
}

extension Sightings.State {
    /// - Parameter compared: the result of the comparison, if it was made.
    fileprivate mutating func take(
        _ seen: Sightings.Sighting, of identifier: ItemIdentifier, at place: Sightings.Place, _ wasWritten: Bool,
        _ compared: (digest: ContentDigest, isSame: Bool)? = nil
    ) -> Sightings.Answer {
        var now = seen
        guard let before = last(of: identifier, now) else {
            now.digest = expected[now.body]
            return remember(now, as: identifier)
        }
        if before.lookup > now.lookup {
            // A later lookup saw more.
            if wasWritten { written.insert(place) }
            return .known(before.body == now.body ? before.contents : Sightings.Contents())
        }
        (now.racySince, now.digest) = (before.racySince, before.digest)
        if before.body != now.body {
            now.advance(from: before)
            now.digest = expected[now.body]
        } else if before.changed != now.changed, now.body.size > 0 {
            let isExplained = before.dress != now.dress && !wasWritten
            // (A change before this run was not watched.)
            if let digest = before.digest, !isExplained || before.lookup == 0 {
                guard let compared else { return .comparing(digest) }
                if compared != (digest, true) { now.becomesRacy() }
            } else if !isExplained {
                now.becomesRacy()
            }
        }
        return remember(now, as: identifier)
    }

    private mutating func remember(_ now: Sightings.Sighting, as identifier: ItemIdentifier) -> Sightings.Answer {
        seen[identifier] = now
        if now.file != identifier { items[now.file] = identifier }
        return .known(now.contents)
    }

    /// The last observation of the item; or of the file, if that is newer: the file was another item before it got a
    /// further name, or lost one.
    private func last(of identifier: ItemIdentifier, _ now: Sightings.Sighting) -> Sightings.Sighting? {
        var last = seen[identifier]
        for other in [now.file, items[now.file]] {
            guard let other, other != identifier, let there = seen[other], there.body.isOfSameFile(as: now.body) else {
                continue
            }
            if let last, last.body.isOfSameFile(as: now.body), last.changed >= there.changed { continue }
            last = there
        }
        return last
    }
}

extension Sightings.Sighting {
    /// From the catalog's item; nil unless it is a document, and for one of an older Hydrant.
    fileprivate init?(_ item: KnownItem) {
        guard !item.isFolder, let (body, racySince) = Body.parse(item.contentVersion),
            let metadata = MetadataText(item.metadataVersion)
        else { return nil }
        self.init(
            file: Identity.ofFile(body, knownAs: item.identifier), body: body, changed: metadata.changed,
            dress: metadata.dress.hashValue, racySince: racySince, digest: metadata.digest, lookup: 0)
    }

    /// Size or date differ. Unless the date advances, the contents could pass for earlier ones.
    fileprivate mutating func advance(from before: Self) {
        guard body.isOfSameFile(as: before.body) else { return racySince = nil }
        racySince = before.racySince == nil && before.body.modified < body.modified ? nil : changed
    }

    /// The contents differ from earlier ones.
    fileprivate mutating func becomesRacy() { (racySince, digest) = (changed, nil) }
}

/// The parts of a metadata version: the change time (ctime) of the file, the digest of its contents at that time, if
/// known, and the rest.
struct MetadataText {
    var changed: Timestamp
    var digest: ContentDigest?
    /// Place, owner, mode, date, attributes.
    var dress: [UInt8]

    init(changed: Timestamp, digest: ContentDigest?, dress: [UInt8]) {
        self.changed = changed
        self.digest = digest
        self.dress = dress
    }

    /// Nil for a version of another Hydrant.
    init?(_ version: MetadataVersion) {
        guard version.bytes.first == UInt8(ascii: "c"), let space = version.bytes.firstIndex(of: UInt8(ascii: " "))
        else {
            return nil
        }
        let parts = String(decoding: version.bytes[1..<space], as: UTF8.self).split(
            separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let changed = Timestamp(parts[0]) else { return nil }
        self.init(changed: changed, digest: nil, dress: Array(version.bytes[space...]))
        if parts.count == 1 { return }
        guard let digest = ContentDigest(parts[1]) else { return nil }
        self.digest = digest
    }

    var version: MetadataVersion {
        MetadataVersion(bytes: Array(("c\(changed)" + (digest.map { ":\($0)" } ?? "")).utf8) + dress)
    }
}
