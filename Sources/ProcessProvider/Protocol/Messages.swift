package import FileProvider
import Foundation

/// The names of requests and notices. Hooks have the names that they have in the SDK.
package enum Method: String, Sendable {
    // From the program, before everything else.
    case hello
    // From Hydrant.
    case initialize, beginServing, invalidate
    case providePlaceholder, enumerateItems, startProvidingItem, itemChanged, stopProvidingItem
    case createItem, moveItem, deleteItem
    case updateMetadata, copyItem, trashItem, quota, search, folderVersion
    case currentSyncAnchor, enumerateChanges
    case thumbnail, keepThumbnail
    case versions, startProvidingVersion
    case setFavorite, shareLink, sharedLinks, endSharedLink, trashedItems, restoreTrashedItem
    case persistentIdentifierForItem, urlForItem
    case credentialMayHaveChanged, signOut
    // From the program: the contents of an upload, what the mounted domain knows, and notices.
    case readContents
    case catalogIdentifierForItem, urlForItemWithCatalogIdentifier, itemIdentifier, url
    case knownItem, knownItems, knownItemsInFolder, knownItemNamed, knownDocuments, writePlaceholder
    case changed, log
    // From both sides.
    case ping, cancel, credit, working
}

/// What each message must have before its method is known.
package struct Envelope: Decodable, Sendable {
    package var id: UInt64?
    package var method: String?
    var error: WireError?
    private var result: Present?
    private var partial: Present?

    private struct Present: Decodable, Sendable {
        init(from decoder: any Decoder) throws {}
    }

    package enum Kind: Sendable {
        case request(UInt64, String)
        case notice(String)
        case result(UInt64)
        /// A part of the result's lists; more follows.
        case partial(UInt64)
        case error(UInt64, WireError)
        case unknown
    }

    package var kind: Kind {
        if let method { return id.map { .request($0, method) } ?? .notice(method) }
        guard let id else { return .unknown }
        if let error { return .error(id, error) }
        if result != nil { return .result(id) }
        return partial == nil ? .unknown : .partial(id)
    }

    package init(_ json: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(json)) }
}

/// A message to be encoded or decoded, all but its envelope.
enum Body {
    struct Request<Params: Encodable>: Encodable {
        var id: UInt64?
        var method: Method
        var params: Params
        private enum CodingKeys: String, CodingKey { case id, method, params }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(id, forKey: .id)
            try container.encode(method.rawValue, forKey: .method)
            try container.encode(params, forKey: .params)
        }
    }
    struct Params<Value: Decodable>: Decodable { var params: Value }
    struct Result<Value: Decodable>: Decodable { var result: Value }
    struct Partial<Value: Decodable>: Decodable { var partial: Value }
    struct Answer<Value: Encodable>: Encodable { var id: UInt64, result: Value }
    struct Part<Value: Encodable>: Encodable { var id: UInt64, partial: Value }
    struct Failure: Encodable { var id: UInt64, error: WireError }
}

/// An answer with lists may come in several messages, of which each has a part of them.
package protocol ListAnswer: Codable, Sendable {
    /// Two answers that together are this one; nil: it cannot be divided.
    var halves: (Self, Self)? { get }
    /// Takes the lists of a later part behind its own, and all else from it.
    mutating func append(_ later: Self)
}

extension Array {
    /// Nil for an array of fewer than two.
    var halves: ([Element], [Element])? {
        count < 2 ? nil : (Array(self[..<(count / 2)]), Array(self[(count / 2)...]))
    }
}

// MARK: - Messages

/// Parameters and results.
package enum Message {
    /// For messages without any.
    package struct Nothing: Codable, Sendable { package init() {} }

    package struct Hello: Codable, Sendable {
        /// The versions of the protocol that the program speaks.
        package var versions: [Int]
        /// The kind of the scheme's locations: `path`, `url` or `name`.
        package var locations: String?
        package init(versions: [Int]) { self.versions = versions }
    }

    package struct Initialize: Codable, Sendable {
        /// The version to speak: the newest that both know.
        package var version: Int
        /// `SCHEME:REST`, as the user wrote it; `rest` is the text after the first colon.
        package var store: String
        package var scheme: String
        package var rest: String
        /// The rest as an absolute path.
        package var path: String
        /// Relative paths start here.
        package var workingDirectory: String
        /// The release of Hydrant.
        package var hydrant: String
    }

    package struct Abilities: Codable, Hashable, Sendable {
        package var version: Int
        /// As `FileProviderExtension.providerIdentifier`.
        package var providerIdentifier: String
        package var documentGroup: String?
        package var isReadOnly: Bool?
        /// The optional protocols of the SDK that the program implements.
        package var abilities: [String]?
        /// Identifiers survive a rename: bookmarks are made of them.
        package var identifiersArePersistent: Bool?
        /// The program answers `persistentIdentifierForItem` and `urlForItem` itself.
        package var answersPersistentIdentifiers: Bool?
        package var uploadsAtOnce: Int?
        /// The most requests that the program takes at a time.
        package var requestsAtOnce: Int?

        package init(providerIdentifier: String) {
            version = ProviderProtocol.version
            self.providerIdentifier = providerIdentifier
        }

        /// Whether a program that says this can do the same: in what order it names its abilities, and whether it leaves
        /// out what it has not, makes no difference.
        package func isSame(as other: Abilities) -> Bool {
            func plain(_ said: Abilities) -> Abilities {
                var said = said
                said.abilities = Set(said.abilities ?? []).sorted()
                said.isReadOnly = said.isReadOnly ?? false
                said.identifiersArePersistent = said.identifiersArePersistent ?? false
                said.answersPersistentIdentifiers = said.answersPersistentIdentifiers ?? false
                return said
            }
            return plain(self) == plain(other)
        }
    }

    package struct BeginServing: Codable, Sendable {
        package var documentStorageURL: String
        package var documentGroupURL: String?
        package init(documentStorageURL: String, documentGroupURL: String? = nil) {
            (self.documentStorageURL, self.documentGroupURL) = (documentStorageURL, documentGroupURL)
        }
    }

    package struct Identified: Codable, Sendable {
        package var identifier: ItemIdentifier
        /// The request whose domain is asked.
        package var request: UInt64?
        package init(identifier: ItemIdentifier, request: UInt64? = nil) {
            (self.identifier, self.request) = (identifier, request)
        }
    }

    package struct Located: Codable, Sendable {
        package var url: String
        package var request: UInt64?
        package init(url: String, request: UInt64? = nil) { (self.url, self.request) = (url, request) }
    }

    package struct ItemAnswer: Codable, Sendable {
        package var item: WireItem
        package init(_ item: Item) { self.item = WireItem(item) }
    }

    package struct Enumerate: Codable, Sendable {
        package var folder: ItemIdentifier
        package var page: ByteString?
    }

    package struct Items: ListAnswer {
        struct LeftOut: Codable, Sendable {
            var filename: ByteString
            var reason: String
        }
        var items: [WireItem]
        var nextPage: ByteString?
        var leftOut: [LeftOut]?

        package init(_ page: ItemPage) {
            items = page.items.map(WireItem.init)
            nextPage = page.nextPage.map { ByteString($0.bytes) }
            leftOut =
                page.leftOut.isEmpty
                ? nil
                : page.leftOut.map { LeftOut(filename: ByteString($0.filename.bytes), reason: $0.reason) }
        }

        package var value: ItemPage {
            ItemPage(
                items: items.map(\.value), nextPage: nextPage.map { Page(bytes: $0.bytes) },
                leftOut: (leftOut ?? []).map {
                    LeftOutItem(filename: Filename(bytes: $0.filename.bytes), reason: $0.reason)
                })
        }

        package var halves: (Items, Items)? {
            guard let (a, b) = items.halves else { return nil }
            var (first, second) = (self, self)
            (first.items, second.items) = (a, b)
            first.leftOut = nil
            return (first, second)
        }

        package mutating func append(_ later: Items) {
            items += later.items
            nextPage = later.nextPage
            if let left = later.leftOut {
                leftOut = leftOut ?? []
                leftOut! += left
            }
        }
    }

    package struct Download: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var version: ByteString
        package var offset: Int64
        package var length: Int64
        var credit: Int? = Credit.initial
        package init(identifier: ItemIdentifier, version: ByteString, range: Range<Int64>) {
            self.identifier = identifier
            self.version = version
            (offset, length) = (range.lowerBound, range.upperBound - range.lowerBound)
        }
    }

    package struct Contents: Codable, Sendable {
        package var size: Int64
    }

    package struct Change: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var contents: Contents
        package var metadata: WireMetadata
        package var baseVersion: WireVersion
    }

    package struct Create: Codable, Sendable {
        package var template: WireTemplate
        package var contents: Contents?
    }

    package struct Move: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var folder: ItemIdentifier
        package var filename: ByteString
        package var baseVersion: WireVersion
    }

    /// Deletion, and the trash.
    package struct Delete: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var baseVersion: WireVersion
    }

    package struct UpdateMetadata: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var metadata: WireMetadata
        package var baseVersion: WireVersion
    }

    package struct Copy: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var version: ByteString
        package var template: WireTemplate
    }

    package struct Disposition: Codable, Sendable {
        /// `keep` or `evict`.
        package var disposition: String
        package init(_ value: ContentDisposition) { disposition = value == .evict ? "evict" : "keep" }
        package var value: ContentDisposition { disposition == "evict" ? .evict : .keep }
    }

    package struct Anchor: Codable, Sendable {
        package var anchor: ByteString
        package init(_ anchor: SyncAnchor) { self.anchor = ByteString(anchor.bytes) }
        package var value: SyncAnchor { SyncAnchor(bytes: anchor.bytes) }
    }

    package struct Changes: ListAnswer {
        var updated: [WireItem]?
        var deleted: [ItemIdentifier]?
        /// Missing in a part.
        var anchor: ByteString?
        var hasMore: Bool?

        package init(_ page: ChangePage) {
            updated = page.updated.map(WireItem.init)
            deleted = page.deleted
            anchor = ByteString(page.anchor.bytes)
            hasMore = page.hasMore
        }

        package func value() throws(FileProviderError) -> ChangePage {
            guard let anchor else {
                throw FileProviderError(.cannotSynchronize, "the provider's changes have no anchor")
            }
            return ChangePage(
                updated: (updated ?? []).map(\.value), deleted: deleted ?? [], anchor: SyncAnchor(bytes: anchor.bytes),
                hasMore: hasMore ?? false)
        }

        package var halves: (Changes, Changes)? {
            var (first, second) = (self, self)
            if let (a, b) = updated?.halves {
                (first.updated, second.updated) = (a, b)
                first.deleted = nil
                return (first, second)
            }
            guard let (a, b) = deleted?.halves else { return nil }
            (first.deleted, second.deleted) = (a, b)
            first.updated = nil
            return (first, second)
        }

        package mutating func append(_ later: Changes) {
            updated = updated ?? []
            updated! += later.updated ?? []
            deleted = deleted ?? []
            deleted! += later.deleted ?? []
            (anchor, hasMore) = (later.anchor, later.hasMore)
        }
    }

    package struct Folder: Codable, Sendable { package var folder: ItemIdentifier }

    package struct FolderVersion: Codable, Sendable {
        package var version: String?
        package init(version: String?) { self.version = version }
    }

    package struct Thumbnail: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var version: ByteString
        package var size: Int
        var credit: Int? = Credit.initial
        package init(identifier: ItemIdentifier, version: ByteString, size: Int) {
            (self.identifier, self.version, self.size) = (identifier, version, size)
        }
    }

    package struct ThumbnailAnswer: Codable, Sendable {
        /// Whether the frames before had a picture.
        package var hasThumbnail: Bool
        package init(hasThumbnail: Bool) { self.hasThumbnail = hasThumbnail }
    }

    package struct KeepThumbnail: Codable, Sendable {
        package var identifier: ItemIdentifier
        package var version: ByteString
        package var contents: Contents
    }

    package struct Quota: Codable, Sendable {
        var used: Int64
        var total: Int64?
        package init(_ quota: StoreQuota) { (used, total) = (quota.used, quota.total) }
        package var value: StoreQuota { StoreQuota(used: used, total: total) }
    }

    package struct Search: Codable, Sendable {
        struct Bounds: Codable, Sendable {
            var from: Int64
            var to: Int64
            init(_ range: ClosedRange<Int64>) { (from, to) = (range.lowerBound, range.upperBound) }
            var value: ClosedRange<Int64>? { from <= to ? from...to : nil }
        }
        var nameParts: [String]
        var filenameExtensions: [String]
        var size: Bounds?
        var modified: Bounds?
        var limit: Int

        package init(_ search: StoreSearch) {
            nameParts = search.nameParts
            filenameExtensions = search.filenameExtensions
            size = search.size.map(Bounds.init)
            modified = search.modified.map(Bounds.init)
            limit = search.limit
        }

        package var value: StoreSearch {
            StoreSearch(
                nameParts: nameParts, filenameExtensions: filenameExtensions, size: size?.value,
                modified: modified?.value, limit: limit)
        }
    }

    package struct Findings: ListAnswer {
        struct Finding: Codable, Sendable {
            var path: [ByteString]
            var kind: WireKind
            var target: ByteString?
            var size: Int64?
            var contentModificationDate: WireTime
            var identifier: ItemIdentifier?
        }
        var findings: [Finding]
        var isComplete: Bool?

        package init(_ answer: StoreFindings) {
            findings = answer.findings.map {
                Finding(
                    path: $0.path.map { ByteString($0.bytes) }, kind: WireKind($0.kind), target: $0.kind.wireTarget,
                    size: $0.size, contentModificationDate: WireTime($0.contentModificationDate),
                    identifier: $0.identifier)
            }
            isComplete = answer.isComplete
        }

        package var value: StoreFindings {
            StoreFindings(
                findings.map {
                    StoreFinding(
                        path: $0.path.map { Filename(bytes: $0.bytes) }, kind: $0.kind.value($0.target),
                        size: $0.size ?? 0, contentModificationDate: $0.contentModificationDate.value,
                        identifier: $0.identifier)
                }, isComplete: isComplete ?? false)
        }

        package var halves: (Findings, Findings)? {
            guard let (a, b) = findings.halves else { return nil }
            var (first, second) = (self, self)
            (first.findings, second.findings) = (a, b)
            return (first, second)
        }

        package mutating func append(_ later: Findings) {
            findings += later.findings
            isComplete = later.isComplete
        }
    }

    // MARK: From the program

    package struct ReadContents: Codable, Sendable {
        /// The request with the contents.
        package var request: UInt64
        package var offset: Int64
        package var length: Int64
        /// The bytes do not leave this machine, as in `ContentSource.readLocally`.
        package var isLocal: Bool?
        var credit: Int? = Credit.initial
        package init(request: UInt64, offset: Int64, length: Int64, isLocal: Bool) {
            (self.request, self.offset, self.length) = (request, offset, length)
            self.isLocal = isLocal ? true : nil
        }
    }

    package struct KnownItems: Codable, Sendable {
        package var identifiers: [ItemIdentifier]
        package var request: UInt64?
        package init(identifiers: [ItemIdentifier], request: UInt64?) {
            (self.identifiers, self.request) = (identifiers, request)
        }
    }

    package struct KnownItemsInFolder: Codable, Sendable {
        package var folder: ItemIdentifier
        package var request: UInt64?
        package init(folder: ItemIdentifier, request: UInt64?) {
            (self.folder, self.request) = (folder, request)
        }
    }

    package struct KnownItemNamed: Codable, Sendable {
        package var filename: ByteString
        package var folder: ItemIdentifier
        package var request: UInt64?
        package init(filename: ByteString, folder: ItemIdentifier, request: UInt64?) {
            (self.filename, self.folder, self.request) = (filename, folder, request)
        }
    }

    package struct KnownDocuments: Codable, Sendable {
        package var versions: [ByteString]
        package var request: UInt64?
        package init(versions: [ByteString], request: UInt64?) {
            (self.versions, self.request) = (versions, request)
        }
    }

    package struct KnownItem: Codable, Sendable {
        /// Missing: nothing is known of it.
        package var item: WireKnownItem?
    }

    package struct KnownItemList: ListAnswer {
        package var items: [WireKnownItem]
        package var halves: (KnownItemList, KnownItemList)? {
            items.halves.map { (KnownItemList(items: $0), KnownItemList(items: $1)) }
        }
        package mutating func append(_ later: KnownItemList) { items += later.items }
    }

    package struct WritePlaceholder: Codable, Sendable {
        package var url: String
        package var item: WireItem
        /// At most 512 KiB.
        package var thumbnail: ByteString?
        package var request: UInt64?
        package init(url: String, item: WireItem, thumbnail: ByteString?, request: UInt64?) {
            (self.url, self.item, self.thumbnail, self.request) = (url, item, thumbnail, request)
        }
    }

    /// One of them.
    package struct Changed: Codable, Sendable {
        var folder: ItemIdentifier?
        var item: ItemIdentifier?
        var everything: Bool?

        package init(_ signal: ChangeSignal) {
            switch signal {
            case .folder(let folder): self.folder = folder
            case .item(let item): self.item = item
            case .everything: everything = true
            }
        }

        package var value: ChangeSignal {
            if let folder { return .folder(folder) }
            return item.map { .item($0) } ?? .everything
        }
    }

    package struct Log: Codable, Sendable {
        var level: String?
        var message: String
    }

    // MARK: About requests

    /// Cancels a request, or says that it is still being worked on.
    package struct About: Codable, Sendable { package var request: UInt64 }

    /// More bytes may be sent.
    package struct Credit: Codable, Sendable {
        package var request: UInt64
        package var bytes: Int

        /// What the asking side gives with the request itself.
        static let initial = 1 << 20
        /// The most that may be given ahead.
        static let most = 64 << 20
    }
}

/// The protocol as a whole.
package enum ProviderProtocol {
    package static let version = 1
    /// The only argument that a program gets besides those of its command. It says that Hydrant speaks with the program
    /// over standard input and output.
    package static let argument = "--hydrant-protocol"

    /// What a program says first; nil: this is not the provider protocol.
    package static func hello(in output: [UInt8]) -> Message.Hello? {
        var parser = FrameParser()
        parser.append(output)
        guard case .json(let json) = try? parser.next(), case .notice(Method.hello.rawValue) = try? Envelope(json).kind
        else { return nil }
        return Connection.params(Message.Hello.self, json)
    }
}
