public import FileProvider
import Foundation
import Synchronization

/// A store in memory that keeps the whole contract of the SDK: for tests, and as an example.
///
/// The methods of the protocol are the calls of Hydrant; a journal keeps them (``calls``). The methods with a path
/// (`put(_:_:modified:)` and so on) are the store's *other client*: they change the store unconditionally, and are
/// signalled.
///
/// Identifiers are the store's own and survive every rename; the pages of a changing folder have no gap. Any thread may
/// call any method.
public final class InMemoryProvider: FileProviderExtension {
    struct State {
        var store: MemoryStore
        var calls: [HookCall] = []
        var disposition = ContentDisposition.keep
        var isReadOnly = false
    }

    /// The optional abilities of a store. Other calls throw `FileProviderError.Code.unsupported`.
    public struct Features: OptionSet, Hashable, Sendable {
        /// One bit per ability.
        public let rawValue: UInt16
        /// The abilities with these bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Listing changes since an anchor.
        public static let changes = Features(rawValue: 1)
        /// Copying documents.
        public static let copying = Features(rawValue: 2)
        /// Keeping deleted items in a trash, which can be looked into.
        public static let trash = Features(rawValue: 4)
        /// Making thumbnails.
        public static let thumbnails = Features(rawValue: 8)
        /// Reporting used and free space.
        public static let quota = Features(rawValue: 16)
        /// Searching for documents.
        public static let searching = Features(rawValue: 32)
        /// Keeping the thumbnails that programs give documents; requires ``thumbnails``.
        public static let keepingThumbnails = Features(rawValue: 64)
        /// Marking items as favourites.
        public static let favorites = Features(rawValue: 128)
        /// Giving out links.
        public static let links = Features(rawValue: 256)
        /// Keeping the versions that others have replaced.
        public static let versions = Features(rawValue: 512)
        /// All features.
        public static let all: Features = [
            .changes, .copying, .trash, .thumbnails, .quota, .searching, .keepingThumbnails, .favorites, .links,
            .versions,
        ]
    }

    /// The most items on a page of an enumeration.
    public let pageSize: Int
    /// The most bytes that are passed to a sink, or requested from a source, at once.
    public let pieceSize: Int
    /// The optional features.
    public let features: Features
    let signalsOwnChanges: Bool
    let signalHub = SignalHub()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - pageSize: the most items of a page, at least 1.
    ///   - pieceSize: the most bytes of one transfer step, at least 1.
    ///   - signalsOwnChanges: whether changes made through the protocol are signalled too; a store may do either.
    ///   - features: the optional abilities; without them a test shows how Hydrant does without.
    public init(
        pageSize: Int = 100, pieceSize: Int = 64 << 10, signalsOwnChanges: Bool = false, features: Features = []
    ) {
        precondition(pageSize > 0 && pieceSize > 0)
        self.features = features
        self.pageSize = pageSize
        self.pieceSize = pieceSize
        self.signalsOwnChanges = signalsOwnChanges
        var store = MemoryStore(made: Self.now)
        store.keepsVersions = features.contains(.versions)
        state = Mutex(State(store: store))
    }

    // MARK: The journal

    /// Every call of a hook so far, in order of their starts.
    public var calls: [HookCall] { state.withLock { $0.calls } }

    /// The calls of one hook so far.
    public func calls(of hook: Hook) -> [HookCall] { calls.filter { $0.hook == hook } }

    /// Clears the journal.
    public func forgetCalls() { state.withLock { $0.calls = [] } }

    /// The answer of ``stopProvidingItem(_:)``.
    public var disposition: ContentDisposition {
        get { state.withLock { $0.disposition } }
        set { state.withLock { $0.disposition = newValue } }
    }

    /// While true every change through the protocol is refused with `FileProviderError.Code.readOnly`; the other client
    /// may go on.
    public var isReadOnly: Bool {
        get { state.withLock { $0.isReadOnly } }
        set { state.withLock { $0.isReadOnly = newValue } }
    }

    // MARK: Hooks that do not change the store

    public func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        note(HookCall(.providePlaceholder, identifier))
        return try withStore { store throws(FileProviderError) in try store.node(identifier).item }
    }

    public func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        note(HookCall(.enumerateItems, folder, page: page))
        return try withStore { store throws(FileProviderError) in
            let result = try store.page(of: folder, startingAt: page, size: pageSize)
            try store.checkMay(.reading, try store.node(folder))
            return result
        }
    }

    public func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError) {
        note(HookCall(.startProvidingItem, identifier, range: range, contentVersion: version))
        var offset = range.lowerBound
        while offset < range.upperBound {
            if Task.isCancelled { throw FileProviderError(.cancelled, "the download was cancelled") }
            let end = min(range.upperBound, offset + Int64(pieceSize))
            // Looked up for each piece: the contents may change in mid-transfer.
            let piece = try piece(of: identifier, version, offset..<end)
            try await sink.write(piece, at: offset)
            offset = end
        }
    }

    public func stopProvidingItem(_ identifier: ItemIdentifier) async -> ContentDisposition {
        note(HookCall(.stopProvidingItem, identifier))
        return disposition
    }

    private func piece(
        of identifier: ItemIdentifier, _ version: ContentVersion, _ range: Range<Int64>
    ) throws(FileProviderError) -> [UInt8] {
        try withStore { store throws(FileProviderError) in
            let node = try store.document(identifier)
            try store.checkMay(.reading, node)
            guard node.item.version.content == version else {
                throw FileProviderError(
                    .versionMismatch, "\(node.item.filename): its contents have changed", item: node.item)
            }
            guard range.lowerBound >= 0, range.upperBound <= node.item.size else {
                throw FileProviderError(
                    .cannotSynchronize, "\(node.item.filename): has \(node.item.size) bytes, \(range) were requested")
            }
            return Array(node.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    // MARK: Under the lock

    func note(_ call: HookCall) { state.withLock { $0.calls.append(call) } }

    func withStore<Result: Sendable>(
        _ body: (inout MemoryStore) throws(FileProviderError) -> Result
    ) throws(FileProviderError) -> Result {
        try state.withLock { state throws(FileProviderError) in try body(&state.store) }
    }

    func requireWritable() throws(FileProviderError) {
        if isReadOnly { throw FileProviderError(.readOnly, "the store takes no changes") }
    }

    static var now: FileTime {
        FileTime(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    }
}
