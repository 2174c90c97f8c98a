import Dispatch
import FileProvider
import Synchronization

/// What was seen of documents before, in this run or, by what the catalog keeps, in an earlier one.
///
/// By it a change is noticed that keeps inode, size and date (``contents(of:at:_:comparing:)``), and a file is believed or
/// not when its attribute says that it is an item (``identifier(claimed:own:of:at:)``).
final class Sightings: Sendable {
    /// A document as it was at one moment.
    struct Sighting: Sendable {
        /// What it is whatever its name, and whichever item it has taken the place of.
        var file: ItemIdentifier
        var body: Body
        var changed: Timestamp
        /// Of all else that changes the change time: place, owner, mode, attributes.
        var dress: Int
        /// When its contents were found to be others, with the size and the date of those before.
        var doubt: Timestamp?
        /// Of its contents; nil: nobody has read them all.
        var digest: ContentDigest?
        /// Looks are numbered: what one sees that began earlier may be older. 0: in an earlier run.
        var look: UInt64

        var contents: Contents { Contents(doubt: doubt, digest: digest) }
    }

    /// What there is to the contents of a document besides its size and date.
    struct Contents {
        /// Since when they are others than earlier ones of the same inode, size and date; nil: they are not.
        var doubt: Timestamp?
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
        /// Of files that are not the item that they would be by themselves (they have several names, or have replaced
        /// another file), which one they were last.
        var items: [ItemIdentifier: ItemIdentifier] = [:]
        /// Of files of ours that nobody has seen in their place yet.
        var expected: [Body: ContentDigest] = [:]
        /// The folders of which everything that the catalog knows is in ``seen``.
        var known: Set<ItemIdentifier> = []
        /// Which files are what they claim to be.
        var claims: [Claim: Bool] = [:]
        /// Where programs wrote, or closed after writing, and nobody has looked since.
        var written: Set<Place> = []
    }

    fileprivate enum Answer {
        case known(Contents)
        /// They are those of this digest, or others.
        case comparing(ContentDigest)

        var contents: Contents? { if case .known(let contents) = self { contents } else { nil } }
    }

    private let state = Mutex(State())
    private let looks = Atomic<UInt64>(1)
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    private let user: UInt32
    private let index: StoreIndex
    /// With more of them, the change time alone tells.
    private static let mostWritten = 65_536

    init(user: UInt32, index: StoreIndex) {
        self.user = user
        self.index = index
    }

    func serve(_ domain: (any FileProviderDomain)?) { self.domain.withLock { $0 = domain } }

    /// Before a file is looked at.
    func beginLook() -> UInt64 { looks.add(1, ordering: .relaxed).newValue }

    // MARK: Contents

    /// inotify says that somebody writes, or has written.
    func noteWritten(_ place: Place) {
        state.withLock { state in
            if state.written.count >= Self.mostWritten { state.written = [] }
            state.written.insert(place)
        }
    }

    /// A change of ours, of a file's date or mode: that its change time is another one says nothing.
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

    /// Contents that have passed through here: those of the item at `version`.
    func note(_ digest: ContentDigest, of identifier: ItemIdentifier, at version: ContentVersion) {
        state.withLock { state in
            guard let seen = state.seen[identifier], seen.body.version(doubt: seen.doubt) == version else { return }
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

    /// Remembers what is seen now, and says which contents these are.
    ///
    /// With inode, size and date as before, a changed change time (ctime) says that the contents may be others. Those of
    /// which there is a digest are compared with it. Others are others, unless a rename, a link, another mode, owner,
    /// attribute or flag explains the change time and nobody was seen writing. (What changed together with one of these
    /// while nobody watched is not noticed without a digest.)
    ///
    /// - Parameter compare: the contents that are there with those that were. Called once at most, outside of locks.
    /// - Returns: nil when they were changed while they were compared: what is seen now is no longer true.
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

    /// There is no such item any more. (A file of it that has another name was seen under that.)
    func forget(_ identifier: ItemIdentifier) {
        state.withLock { state in
            guard let last = state.seen[identifier] else { return }
            state.seen[identifier] = nil
            if state.items[last.file] == identifier { state.items[last.file] = nil }
        }
    }

    // MARK: Identity

    /// What a file is whose attribute says that it is the item `claimed`. Whoever may write to a file can write that, so it
    /// is believed of three only: the file that was the item when it was last seen, wherever it is by now; what has the
    /// item's place, which only those can bring there who may replace the item anyway; and where nobody knows the item, a
    /// file that only the daemon's user may write to.
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

    /// A file of ours, which is to take the place of the item.
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
        // It was not believed before.
        if known.contains(where: { $0.identifier == own }) { return false }
        guard let item = known.first(where: { $0.identifier == claimed }) else {
            return file.owner == user && file.permissions & 0o022 == 0
        }
        if let last = Body.parse(item.contentVersion)?.body, last.isOfSameFile(as: body) { return true }
        return !item.isFolder && item.parentIdentifier == place.folder && item.filename.bytes == place.name
    }

    // MARK: The catalog

    /// Takes what the catalog knows of a folder's documents, once.
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

    /// Asks the domain, which answers from the catalog and never asks back. Only on the provider's own threads, which may
    /// wait.
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
    /// - Parameter compared: what comparing has shown, if that has been done.
    fileprivate mutating func take(
        _ seen: Sightings.Sighting, of identifier: ItemIdentifier, at place: Sightings.Place, _ wasWritten: Bool,
        _ compared: (digest: ContentDigest, isSame: Bool)? = nil
    ) -> Sightings.Answer {
        var now = seen
        guard let before = last(of: identifier, now) else {
            now.digest = expected[now.body]
            return remember(now, as: identifier)
        }
        if before.look > now.look {
            // Whoever looked later saw more.
            if wasWritten { written.insert(place) }
            return .known(before.body == now.body ? before.contents : Sightings.Contents())
        }
        (now.doubt, now.digest) = (before.doubt, before.digest)
        if before.body != now.body {
            now.advance(from: before)
            now.digest = expected[now.body]
        } else if before.changed != now.changed, now.body.size > 0 {
            let isExplained = before.dress != now.dress && !wasWritten
            // (Of the time before this run: nobody watched.)
            if let digest = before.digest, !isExplained || before.look == 0 {
                guard let compared else { return .comparing(digest) }
                if compared != (digest, true) { now.becomesDoubtful() }
            } else if !isExplained {
                now.becomesDoubtful()
            }
        }
        return remember(now, as: identifier)
    }

    private mutating func remember(_ now: Sightings.Sighting, as identifier: ItemIdentifier) -> Sightings.Answer {
        seen[identifier] = now
        if now.file != identifier { items[now.file] = identifier }
        return .known(now.contents)
    }

    /// The item as it was seen last; or the file, where that was later: it was another item before it got a further name, or
    /// lost one.
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
    /// From what the catalog keeps; nil of what is no document, and of an older Hydrant's.
    fileprivate init?(_ item: KnownItem) {
        guard !item.isFolder, let (body, doubt) = Body.parse(item.contentVersion),
            let metadata = MetadataText(item.metadataVersion)
        else { return nil }
        self.init(
            file: Identity.ofFile(body, knownAs: item.identifier), body: body, changed: metadata.changed,
            dress: metadata.dress.hashValue, doubt: doubt, digest: metadata.digest, look: 0)
    }

    /// Size or date are others. Where the date does not go on, these could be those of earlier contents.
    fileprivate mutating func advance(from before: Self) {
        guard body.isOfSameFile(as: before.body) else { return doubt = nil }
        doubt = before.doubt == nil && before.body.modified < body.modified ? nil : changed
    }

    /// The contents are others than before.
    fileprivate mutating func becomesDoubtful() { (doubt, digest) = (changed, nil) }
}

/// What a metadata version says: when the file was changed in any way (ctime), which contents it had then, as far as that
/// is known, and what else there is to it.
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

    /// Nil of one that another Hydrant wrote.
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
