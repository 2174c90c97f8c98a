import FileProvider
import Foundation
import ItemCatalog
import Logging
import Synchronization
import Trees

/// Sends the thumbnails that programs gave, after the contents, to a provider that keeps thumbnails
/// (``FileProvider/ThumbnailKeeping``); else this machine keeps them. No upload of a document waits for its thumbnail,
/// or fails because of it.
final class ThumbnailSender: Sendable {
    private let mount: MountState
    private let client: StoreClient
    private let switches: SyncSwitches
    private let given: GivenThumbnails
    private let shelf: ThumbnailShelf
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation
    /// Changes in quick succession are handled together.
    private static let pause = Duration.milliseconds(100)
    /// In seconds.
    private static let mostDelay = 300.0

    init(mount: MountState, client: StoreClient, switches: SyncSwitches, given: GivenThumbnails, shelf: ThumbnailShelf)
    {
        self.mount = mount
        self.client = client
        self.switches = switches
        self.given = given
        self.shelf = shelf
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Something changed. Never blocks; from any thread.
    func wake() {
        if !given.isEmpty { waker.yield() }
    }

    /// Runs until its task is cancelled.
    func run() async {
        var delay = mount.times.firstRetry
        waker.yield()
        var iterator = wakes.makeAsyncIterator()
        while await iterator.next() != nil, !Task.isCancelled {
            guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
            if await sendAll() {
                delay = mount.times.firstRetry
                continue
            }
            let seconds = delay
            delay = min(delay * 2, Self.mostDelay)
            Task { [waker, clock = mount.clock] in
                try? await clock.sleep(for: .seconds(seconds))
                waker.yield()
            }
        }
    }

    /// - Returns: false: some thumbnail has to be tried again.
    private func sendAll() async -> Bool {
        var isDone = true
        for entry in given.all {
            if Task.isCancelled { return true }
            if switches.pause.isOn || switches.isMasked { return true }
            if await !send(entry) { isDone = false }
        }
        return isDone
    }

    /// What to do with a thumbnail.
    private enum Plan {
        /// The store does not have the contents yet.
        case wait
        case send(ItemIdentifier, ContentVersion)
        /// The contents belong to another item now, or have a version now.
        case becomes(GivenThumbnails.Entry)
        case drop
    }

    private func plan(_ entry: GivenThumbnails.Entry) throws -> Plan {
        try mount.catalog.read { reader in
            if let item = try reader.item(entry.item), item.inode != nil {
                if case .revision(let number) = entry.contents, number != 0 || item.identifier == nil,
                    item.contentRevision == number
                {
                    return .wait
                }
                // (If the document was changed here since, the store still has these contents until the upload.)
                if let identifier = item.identifier, let version = item.baseVersion?.content,
                    entry.contents == .version(VersionDigest.text(version))
                {
                    return .send(identifier, version)
                }
            }
            // A conflict may have given the contents to another item, or the daemon was killed right after the upload.
            guard let inode = try reader.inodeIfPresent(entry.inode), inode.size == entry.size,
                inode.modified == entry.modified, let item = try reader.item(of: entry.inode)
            else { return .drop }
            let now = GivenThumbnails.Entry(item, inode)
            return now == entry ? .drop : .becomes(now)
        }
    }

    /// Whether thumbnails that programs give to documents go to the store.
    var keepsThumbnails: Bool { !mount.isReadOnly && client.keepsThumbnails }

    /// - Returns: false: the thumbnail has to be tried again.
    private func send(_ entry: GivenThumbnails.Entry) async -> Bool {
        guard let plan = try? plan(entry) else { return false }
        switch plan {
        case .wait: return true
        case .drop:
            mount.logger.debug(
                "a thumbnail is dropped: the document's contents have changed", metadata: ["item": "\(entry.item)"])
            given.remove(entry)
            return true
        case .becomes(let other):
            given.replace(entry, with: other)
            waker.yield()
            return true
        case .send(let identifier, let version):
            guard let thumbnail = given.picture(entry) else {
                given.remove(entry)
                return true
            }
            return await send(thumbnail, entry, identifier, version)
        }
    }

    private func send(
        _ thumbnail: Thumbnail, _ entry: GivenThumbnails.Entry, _ identifier: ItemIdentifier, _ version: ContentVersion
    ) async -> Bool {
        guard keepsThumbnails else {
            return keepHere(thumbnail, entry, identifier, version)
        }
        do {
            try await client.keepThumbnail(
                thumbnail, of: identifier, version: version, at: mount.path(of: identifier))
            return keepHere(thumbnail, entry, identifier, version)
        } catch {
            switch error.code {
            case .versionMismatch:
                given.remove(entry)
                return true
            case .noSuchItem:
                // (A store that was away for a moment may have given this answer.)
                guard await isGone(identifier) else { return false }
                given.remove(entry)
                return true
            case .unsupported, .permissionDenied, .readOnly, .insufficientQuota, .invalidName:
                mount.logger.info(
                    "the store does not keep a thumbnail: it is kept on this machine",
                    metadata: [
                        "item": "\(mount.path(of: identifier) ?? "\(identifier)")", "error": "\(error.message)",
                    ])
                return keepHere(thumbnail, entry, identifier, version)
            default: return false
            }
        }
    }

    private func isGone(_ identifier: ItemIdentifier) async -> Bool {
        do { _ = try await client.quietPlaceholder(for: identifier) } catch { return error.code == .noSuchItem }
        return false
    }

    private func keepHere(
        _ thumbnail: Thumbnail, _ entry: GivenThumbnails.Entry, _ identifier: ItemIdentifier, _ version: ContentVersion
    ) -> Bool {
        do { try shelf.put(thumbnail, of: identifier, version) } catch {
            mount.logger.warning("a thumbnail cannot be kept", metadata: ["error": "\(error)"])
            return false
        }
        given.remove(entry)
        return true
    }
}
