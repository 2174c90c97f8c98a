import FileProvider

/// Table `item`.
let itemTable = TableColumns<ItemRecord>(
    "item",
    [
        ColumnGroup("inode", \.inode) { $1.add($0?.rawValue) },
        ColumnGroup("identifier", \.identifier) { $1.add($0?.rawValue) },
        ColumnGroup("kind target", \.kind) { kind, bindings in
            bindings.add(InodeKind(kind).rawValue)
            if case .symbolicLink(let target) = kind { bindings.add(target) } else { bindings.addNull() }
        },
        ColumnGroup("base_parent base_name", \.base) { $1.add($0) },
        ColumnGroup("base_content base_metadata", \.baseVersion) { $1.add($0) },
        ColumnGroup("local_parent local_name", \.local) { $1.add($0) },
        ColumnGroup("local_content", \.contentRevision) { $1.add($0) },
        ColumnGroup("local_metadata", \.metadataRevision) { $1.add($0) },
        ColumnGroup("remote_parent remote_name", \.remote) { $1.add($0) },
        ColumnGroup("remote_content remote_metadata", \.remoteVersion) { $1.add($0) },
        ColumnGroup("remote_size", \.remoteFacts.size) { $1.add($0) },
        ColumnGroup("remote_mtime", \.remoteFacts.modified) { $1.add($0) },
        ColumnGroup("remote_btime", \.remoteFacts.born) { $1.add($0) },
        ColumnGroup("remote_mode", \.remoteFacts.mode) { $1.add($0.map { Int64($0) }) },
        ColumnGroup("ready_at", \.readyAt) { $1.add($0.nanoseconds) },
        ColumnGroup("error_code error attempts retry_at", \.failure) { failure, bindings in
            bindings.add(failure?.code)
            bindings.add(failure?.message)
            bindings.add(failure?.attempts ?? 0)
            bindings.add(failure?.retryAt.nanoseconds ?? 0)
        },
        ColumnGroup("sent_hash sent_size sent_before", \.sent) { sent, bindings in
            bindings.add(sent.last?.hash)
            bindings.add(sent.last?.size)
            bindings.add(SentContent.encode(sent.dropLast()))
        },
        ColumnGroup("pinned", \.isPinned) { $1.add($0) },
        ColumnGroup("excluded", \.isExcluded) { $1.add($0) },
        ColumnGroup("remote_xattr", \.remoteFacts.extendedAttributes) {
            $1.add($0.map { ExtendedAttributes.encode($0) })
        },
        ColumnGroup("remote_capabilities", \.remoteFacts.allowance) { $1.add($0) },
        ColumnGroup("held_at", \.heldSince) { $1.add($0?.nanoseconds) },
        ColumnGroup("attempted_parent attempted_name", \.attempted) { $1.add($0) },
    ])

extension RemoteFacts {
    private static let volume: Int64 = 1 << 8

    /// What the column has of ``capabilities`` (8 bits) and ``isVolume``: nothing, of most items.
    fileprivate var allowance: Int64? {
        capabilities == .all && !isVolume ? nil : Int64(capabilities.rawValue) | (isVolume ? Self.volume : 0)
    }

    static func isVolume(column: Int64?) -> Bool { (column ?? 0) & volume != 0 }
}

extension Bindings {
    fileprivate mutating func add(_ version: ItemVersion?) {
        add(version?.content.bytes)
        add(version?.metadata.bytes)
    }
}
