import Dispatch
import FileProvider
import Synchronization

/// What was seen of documents before, in this run or, by what the catalog keeps, in an earlier one.
///
/// By it a change is noticed that keeps inode, size and date (``doubt(about:at:_:)``), and a file is believed or not when
/// its attribute says that it is an item (``identifier(claimed:own:of:at:)``).
final class Sightings: Sendable {
    /// A document as it was at one moment.
    struct Sighting {
        var body: Body
        var changed: Timestamp
        /// Of all else that changes the change time: place, owner, mode, attributes.
        var dress: Int
        /// When its contents were found to be others, with the size and the date of those before.
        var doubt: Timestamp?
        /// Looks are numbered: what one sees that began earlier may be older.
        var look: UInt64
    }

    struct Place: Hashable {
        var folder: ItemIdentifier
        var name: [UInt8]
    }

    private struct Claim: Hashable {
        var inode: UInt64
        var device: UInt64
        var born: Timestamp?
        var identifier: ItemIdentifier

        init(_ identifier: ItemIdentifier, of file: FileStatus) {
            (inode, device, born, self.identifier) = (file.inode, file.device, file.born, identifier)
        }
    }

    private struct State {
        var seen: [ItemIdentifier: Sighting] = [:]
        /// The folders of which everything that the catalog knows is in ``seen``.
        var known: Set<ItemIdentifier> = []
        /// Which files are what they claim to be.
        var claims: [Claim: Bool] = [:]
        /// Where programs wrote, or closed after writing, and nobody has looked since.
        var written: Set<Place> = []
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

    /// Remembers what is seen now, and says since when the contents are others than earlier ones of the same inode, size
    /// and date; nil: they are not.
    ///
    /// A changed change time (ctime) says so, unless a rename, a link, another mode, owner, attribute or flag explains it and nobody was
    /// seen writing. (What changed together with one of these while nobody watched is not noticed.)
    func doubt(about identifier: ItemIdentifier, at place: Place, _ seen: Sighting) -> Timestamp? {
        learn(place.folder)
        return state.withLock { state in
            var now = seen
            let wasWritten = state.written.remove(place) != nil
            guard let before = state.seen[identifier] else {
                state.seen[identifier] = now
                return nil
            }
            if before.look > now.look {
                // Whoever looked later saw more.
                if wasWritten { state.written.insert(place) }
                return before.body == now.body ? before.doubt : nil
            }
            now.doubt = before.doubt
            if before.body != now.body {
                now.advance(from: before)
            } else if before.changed != now.changed, wasWritten || before.dress == now.dress {
                now.doubt = now.changed
            }
            state.seen[identifier] = now
            return now.doubt
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
            state.seen.merge(sightings) { own, _ in own }
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

extension Sightings.Sighting {
    /// From what the catalog keeps; nil of what is no document, and of an older Hydrant's.
    fileprivate init?(_ item: KnownItem) {
        guard !item.isFolder, let (body, doubt) = Body.parse(item.contentVersion),
            let metadata = MetadataText(item.metadataVersion)
        else { return nil }
        self.init(body: body, changed: metadata.changed, dress: metadata.dress.hashValue, doubt: doubt, look: 0)
    }

    /// Size or date are others. Where the date does not go on, these could be those of earlier contents.
    fileprivate mutating func advance(from before: Self) {
        guard body.isOfSameFile(as: before.body) else { return doubt = nil }
        doubt = before.doubt == nil && before.body.modified < body.modified ? nil : changed
    }
}

/// What a metadata version says: when the file was changed in any way (ctime), and what else there is to it.
struct MetadataText {
    var changed: Timestamp
    /// Place, owner, mode, date, attributes.
    var dress: [UInt8]

    init(changed: Timestamp, dress: [UInt8]) {
        self.changed = changed
        self.dress = dress
    }

    /// Nil of one that an older Hydrant wrote.
    init?(_ version: MetadataVersion) {
        guard version.bytes.first == UInt8(ascii: "c"), let space = version.bytes.firstIndex(of: UInt8(ascii: " ")),
            let changed = Timestamp(String(decoding: version.bytes[1..<space], as: UTF8.self))
        else { return nil }
        self.init(changed: changed, dress: Array(version.bytes[space...]))
    }

    var version: MetadataVersion { MetadataVersion(bytes: Array("c\(changed)".utf8) + dress) }
}
