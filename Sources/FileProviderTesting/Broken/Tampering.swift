import FileProvider
import Foundation
import Synchronization

/// The differences between a ``TamperedProvider`` and the store in memory that it wraps; nil: no difference.
struct Tampering: Sendable {
    typealias Base = InMemoryProvider
    typealias Failure = FileProviderError

    /// Whether the other client of the store has none of these faults.
    var otherIsHonest = false
    /// Changes every item that is returned, also those in errors.
    var item: (@Sendable (Item) -> Item)?

    var placeholder: (@Sendable (Base, ItemIdentifier) async throws(Failure) -> Item)?
    var enumerate: (@Sendable (Base, ItemIdentifier, Page?) async throws(Failure) -> ItemPage)?
    var download:
        (
            @Sendable (Base, ItemIdentifier, ContentVersion, Range<Int64>, any ContentSink)
                async throws(Failure) -> Void
        )?
    var change:
        (
            @Sendable (Base, ItemIdentifier, any ContentSource, ItemMetadata, ItemVersion)
                async throws(Failure) -> Item
        )?
    var stop: (@Sendable (Base, ItemIdentifier) async -> ContentDisposition)?
    var create: (@Sendable (Base, ItemTemplate, (any ContentSource)?) async throws(Failure) -> Item)?
    var move: (@Sendable (Base, ItemIdentifier, ItemIdentifier, Filename, ItemVersion) async throws(Failure) -> Item)?
    var delete: (@Sendable (Base, ItemIdentifier, ItemVersion) async throws(Failure) -> Void)?
    var update: (@Sendable (Base, ItemIdentifier, ItemMetadata, ItemVersion) async throws(Failure) -> Item)?
    var signals: (@Sendable (Base) -> AsyncStream<ChangeSignal>)?
    var anchor: (@Sendable (Base) async throws(Failure) -> SyncAnchor)?
    var changes: (@Sendable (Base, SyncAnchor) async throws(Failure) -> ChangePage)?
    var copy: (@Sendable (Base, ItemIdentifier, ContentVersion, ItemTemplate) async throws(Failure) -> Item)?
    var trash: (@Sendable (Base, ItemIdentifier, ItemVersion) async throws(Failure) -> Void)?
    var trashed: (@Sendable (Base) async throws(Failure) -> [TrashEntry])?
    var restore: (@Sendable (Base, String) async throws(Failure) -> [Filename]?)?
    var share: (@Sendable (Base, ItemIdentifier, LinkTerms) async throws(Failure) -> SharedLink)?
    var links: (@Sendable (Base, ItemIdentifier) async throws(Failure) -> [SharedLink])?
    var endLink: (@Sendable (Base, String, ItemIdentifier) async throws(Failure) -> Void)?
    var favorite: (@Sendable (Base, Bool, ItemIdentifier) async throws(Failure) -> Item)?
    var thumbnail: (@Sendable (Base, ItemIdentifier, ContentVersion, Int) async throws(Failure) -> Thumbnail?)?
    var keepThumbnail: (@Sendable (Base, Thumbnail, ItemIdentifier, ContentVersion) async throws(Failure) -> Void)?
    var versions: (@Sendable (Base, ItemIdentifier, Int) async throws(Failure) -> [DocumentVersion])?
    var provideVersion:
        (@Sendable (Base, DocumentVersion, ItemIdentifier, any ContentSink) async throws(Failure) -> Void)?
    var quota: (@Sendable (Base) async throws(Failure) -> StoreQuota)?
    var search: (@Sendable (Base, StoreSearch) async throws(Failure) -> StoreFindings)?
    var persistentIdentifier: (@Sendable (URL, any FileProviderDomain) async throws(Failure) -> ItemIdentifier)?
    var url: (@Sendable (ItemIdentifier, any FileProviderDomain) async throws(Failure) -> URL)?
}

/// State that a fault keeps from call to call.
final class Memo<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func callAsFunction<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result {
        value.withLock { body(&$0) }
    }
}

// Access to the store beneath, for faults.
extension InMemoryProvider {
    /// The item that has this name now.
    func find(_ name: Filename, in folder: ItemIdentifier) -> Item? {
        try? withStore { store throws(FileProviderError) in store.child(name, in: folder) }
    }

    /// The item as it is now, without an entry in the journal.
    func now(_ identifier: ItemIdentifier) throws(FileProviderError) -> Item {
        try withStore { store throws(FileProviderError) in try store.node(identifier).item }
    }

    func bytes(of identifier: ItemIdentifier) throws(FileProviderError) -> [UInt8] {
        try withStore { store throws(FileProviderError) in try store.document(identifier).bytes }
    }

    func items(in folder: ItemIdentifier) -> [Item] {
        (try? withStore { store throws(FileProviderError) in try store.items(in: folder) }) ?? []
    }

    /// Makes a document without an entry in the journal.
    func plant(_ name: Filename, _ bytes: [UInt8] = [], in folder: ItemIdentifier) {
        let template = ItemTemplate(
            parentIdentifier: folder, filename: name, kind: .document, contentModificationDate: Self.now)
        _ = try? withStore { store throws(FileProviderError) in
            try store.create(template, bytes: bytes, isChecked: false)
        }
    }

    /// Deletes an item without an entry in the journal, a folder with all that is in it.
    func uproot(_ identifier: ItemIdentifier) {
        for child in items(in: identifier) { uproot(child.identifier) }
        _ = try? withStore { store throws(FileProviderError) in try store.delete(identifier, base: nil) }
    }
}

extension ContentSource {
    /// All bytes that the source gives, whatever size it announced, and the error that it ended with.
    func lenientRead() async -> (bytes: [UInt8], failure: FileProviderError?) {
        var bytes: [UInt8] = []
        while true {
            do throws(FileProviderError) {
                let piece = try await read(at: Int64(bytes.count), upTo: 1 << 20)
                if piece.isEmpty { return (bytes, nil) }
                bytes += piece
            } catch {
                return (bytes, error)
            }
        }
    }
}

/// Gives other calls time to run.
func gap(_ milliseconds: Int) async { try? await Task.sleep(for: .milliseconds(milliseconds)) }

/// Waits, a few seconds at most, for another call to do its part: a fault that shows only when two calls meet must not
/// depend on the load of the machine.
func until(_ condition: () -> Bool) async {
    for _ in 0..<3_000 {
        if condition() { return }
        await gap(1)
    }
}
