import FileProvider
import Trees

/// Table `item`.
enum ItemColumn: Int, TableColumn {
    case id, inode, identifier, kind, target
    case baseParent, baseName, baseContent, baseMetadata
    case localParent, localName, localContent, localMetadata
    case remoteParent, remoteName, remoteContent, remoteMetadata, remoteSize, remoteMtime, remoteBtime, remoteMode
    case remoteXattr, remoteCapabilities
    case readyAt, errorCode, error, attempts, retryAt
    case sentHash, sentSize, sentBefore
    case pinned, excluded, heldAt, attemptedParent, attemptedName
}

let itemTable = TableColumns<ItemRecord, ItemColumn>(
    "item",
    [
        ColumnGroup(.inode, value: \.inode) { $1.add($0?.rawValue) },
        ColumnGroup(.identifier, value: \.identifier) { $1.add($0?.rawValue) },
        ColumnGroup(.kind, .target, value: \.kind) { kind, bindings in
            bindings.add(InodeKind(kind).rawValue)
            if case .symbolicLink(let target) = kind { bindings.add(target) } else { bindings.addNull() }
        },
        ColumnGroup(
            stored: [
                "alike", "own_base_parent", "own_base_name", "own_base_content", "own_base_metadata",
                "own_remote_parent", "own_remote_name",
            ], value: { TreeStates($0) }
        ) { $0.bind(&$1) },
        ColumnGroup(.localParent, .localName, value: \.local) { $1.add($0) },
        ColumnGroup(.localContent, value: \.contentRevision) { $1.add($0) },
        ColumnGroup(.localMetadata, value: \.metadataRevision) { $1.add($0) },
        ColumnGroup(.remoteContent, .remoteMetadata, value: \.remoteVersion) { $1.add($0) },
        ColumnGroup(.remoteSize, value: \.remoteFacts.size) { $1.add($0) },
        ColumnGroup(.remoteMtime, value: \.remoteFacts.modified) { $1.add($0) },
        ColumnGroup(.remoteBtime, value: \.remoteFacts.born) { $1.add($0) },
        ColumnGroup(.remoteMode, value: \.remoteFacts.mode) { $1.add($0.map { Int64($0) }) },
        ColumnGroup(.readyAt, value: \.readyAt) { $1.add($0.nanoseconds) },
        ColumnGroup(.errorCode, .error, .attempts, .retryAt, value: \.failure) { failure, bindings in
            bindings.add(failure?.code)
            bindings.add(failure?.message)
            bindings.add(failure?.attempts ?? 0)
            bindings.add(failure?.retryAt.nanoseconds ?? 0)
        },
        ColumnGroup(.sentHash, .sentSize, .sentBefore, value: \.sent) { sent, bindings in
            bindings.add(sent.last?.hash)
            bindings.add(sent.last?.size)
            bindings.add(SentContent.encode(sent.dropLast()))
        },
        ColumnGroup(.pinned, value: \.isPinned) { $1.add($0) },
        ColumnGroup(.excluded, value: \.isExcluded) { $1.add($0) },
        ColumnGroup(.remoteXattr, value: { ExtendedAttributes($0.remoteFacts) }) { $1.add($0.bytes) },
        ColumnGroup(.remoteCapabilities, value: \.remoteFacts.allowance) { $1.add($0) },
        ColumnGroup(.heldAt, value: \.heldSince) { $1.add($0?.nanoseconds) },
        ColumnGroup(.attemptedParent, .attemptedName, value: \.attempted) { $1.add($0) },
    ])

/// An item in the three trees. What is equal is stored once: the base and the remote place with the local place, the
/// base version with the remote version.
private struct TreeStates: Equatable {
    var (local, base, remote): (TreePlace?, TreePlace?, TreePlace?)
    var (baseVersion, remoteVersion): (ItemVersion?, ItemVersion?)

    init(_ item: ItemRecord) {
        (local, base, remote) = (item.local, item.base, item.remote)
        (baseVersion, remoteVersion) = (item.baseVersion, item.remoteVersion)
    }

    static func == (one: Self, other: Self) -> Bool {
        (one.local, one.base, one.remote) == (other.local, other.base, other.remote)
            && (one.baseVersion, one.remoteVersion) == (other.baseVersion, other.remoteVersion)
    }

    func bind(_ bindings: inout Bindings) {
        let isBaseAlike = local != nil && base == local
        let isRemoteAlike = local != nil && remote == local
        let isVersionAlike = remoteVersion != nil && baseVersion == remoteVersion
        bindings.add(Int64((isBaseAlike ? 1 : 0) + (isRemoteAlike ? 2 : 0) + (isVersionAlike ? 4 : 0)))
        bindings.add(isBaseAlike ? nil : base)
        bindings.add(isVersionAlike ? nil : baseVersion)
        bindings.add(isRemoteAlike ? nil : remote)
    }
}

extension Catalog.Reader {
    static let itemColumns = ItemColumn.list(of: "t")
    static let itemColumnCount = ItemColumn.allCases.count

    static func item(_ columns: Columns) -> ItemRecord {
        let row = TableRow<ItemColumn>(columns: columns, first: 0)
        func place(_ parent: ItemColumn, _ name: ItemColumn) -> TreePlace? {
            row.intOrNil(parent).map {
                TreePlace(parent: ItemID(rawValue: $0), name: Filename(bytes: row.bytes(name) ?? []))
            }
        }
        func version(_ content: ItemColumn, _ metadata: ItemColumn) -> ItemVersion? {
            guard let content = row.bytes(content), let metadata = row.bytes(metadata) else { return nil }
            return ItemVersion(
                content: ContentVersion(bytes: content), metadata: MetadataVersion(bytes: metadata))
        }
        let kind: ItemKind =
            switch row.int(.kind) {
            case 1: .folder
            case 2: .symbolicLink(target: row.bytes(.target) ?? [])
            default: .document
            }
        let failure = row.text(.error).map {
            ItemFailure(
                code: row.text(.errorCode) ?? "", message: $0, attempts: row.int(.attempts),
                retryAt: FileTime(nanoseconds: row.int(.retryAt)))
        }
        let attributes = row.bytes(.remoteXattr).map { ExtendedAttributes($0) } ?? ExtendedAttributes()
        let before = row.bytes(.sentBefore).map { SentContent.decode($0) } ?? []
        let sent = row.bytes(.sentHash).map { before + [SentContent(hash: $0, size: row.int(.sentSize))] } ?? []
        return ItemRecord(
            id: ItemID(rawValue: row.int(.id)), inode: row.intOrNil(.inode).map(InodeID.init(rawValue:)),
            identifier: row.text(.identifier).map { ItemIdentifier($0) }, kind: kind,
            base: place(.baseParent, .baseName), baseVersion: version(.baseContent, .baseMetadata),
            local: place(.localParent, .localName), contentRevision: row.int(.localContent),
            metadataRevision: row.int(.localMetadata), remote: place(.remoteParent, .remoteName),
            remoteVersion: version(.remoteContent, .remoteMetadata),
            remoteFacts: RemoteFacts(
                size: row.int(.remoteSize), modified: row.time(.remoteMtime), born: row.timeOrNil(.remoteBtime),
                mode: row.intOrNil(.remoteMode).map { UInt16(truncatingIfNeeded: $0 & 0o1777) },
                extendedAttributes: attributes.attributes,
                capabilities: ItemCapabilities(column: row.intOrNil(.remoteCapabilities)),
                isVolume: RemoteFacts.isVolume(column: row.intOrNil(.remoteCapabilities)),
                isFavorite: attributes.isFavorite, tags: attributes.tags),
            readyAt: FileTime(nanoseconds: row.int(.readyAt)), failure: failure, sent: sent,
            isPinned: row.bool(.pinned), isExcluded: row.bool(.excluded),
            heldSince: row.intOrNil(.heldAt).map(FileTime.init(nanoseconds:)),
            attempted: place(.attemptedParent, .attemptedName))
    }
}

extension RemoteFacts {
    private static let volume: Int64 = 1 << 8

    /// The column for ``capabilities`` (8 bits) and ``isVolume``; NULL for most items.
    fileprivate var allowance: Int64? {
        capabilities == .all && !isVolume ? nil : Int64(capabilities.rawValue) | (isVolume ? Self.volume : 0)
    }

    fileprivate static func isVolume(column: Int64?) -> Bool { (column ?? 0) & volume != 0 }
}

extension ItemCapabilities {
    /// NULL in the column means all capabilities.
    init(column: Int64?) { self = column.map { Self(rawValue: UInt8(truncatingIfNeeded: $0)) } ?? .all }
}

extension Bindings {
    /// Parent and name.
    mutating func add(_ place: TreePlace?) {
        add(place?.parent.rawValue)
        add(place?.name.bytes)
    }

    fileprivate mutating func add(_ version: ItemVersion?) {
        add(version?.content.bytes)
        add(version?.metadata.bytes)
    }
}
