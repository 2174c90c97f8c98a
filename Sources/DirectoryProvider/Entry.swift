import FileProvider

/// One file of the store at one moment, and its folder.
struct Entry: Sendable {
    let folder: Folder
    let name: [UInt8]
    let status: FileStatus
    let identifier: ItemIdentifier
    /// The identifier of the file itself, whatever its name and the item that it replaced.
    let own: ItemIdentifier
    /// Whether inode numbers are stable here.
    let usesInodes: Bool
    /// For a link.
    let target: [UInt8]?
    /// The user's attributes; nil where none are kept, or where they may not be read.
    let attributes: [String: [UInt8]]?
    /// The names of attributes beyond the limit; they stay in the store as they are.
    var leftOutAttributes: [String] = []
    let accessList: AccessList?
    /// The operations that the store's user may do.
    let capabilities: ItemCapabilities
    /// The time since which its contents differ from earlier ones of the same inode, size and date.
    var racySince: Timestamp?
    /// The digest of its contents, if they were read or written here.
    var digest: ContentDigest?

    var path: String { folder.path(of: name) }

    /// Where inodes are not stable, only size and date.
    static func contentVersion(of status: FileStatus, usesInodes: Bool, racySince: Timestamp? = nil) -> ContentVersion {
        if usesInodes, let body = Body(status) { return body.version(racySince: racySince) }
        return ContentVersion("-:\(status.size):\(status.modified)")
    }

    var contentVersion: ContentVersion {
        switch status.kind {
        case .document: Self.contentVersion(of: status, usesInodes: usesInodes, racySince: racySince)
        case .link: ContentVersion(bytes: Array("link:".utf8) + (target ?? []))
        case .folder, .special: ContentVersion("folder")
        }
    }

    private var place: [UInt8] { Array(" \(folder.identifier.rawValue) ".utf8) + name }

    /// The permission bits that programs see.
    var permissions: UInt16 { Permissions.shown(status, accessList) }

    private var metadataVersion: MetadataVersion {
        status.kind == .document && usesInodes
            ? MetadataText(changed: status.changed, digest: digest, dress: dress).version
            : MetadataVersion(bytes: dress)
    }

    /// All that a program can change except contents and name.
    private var dress: [UInt8] {
        let own = " \(String(status.permissions, radix: 8)) \(status.owner):\(status.group) \(status.modified)"
        let rest = attributesVersion + accessVersion + capabilitiesVersion + flagsVersion + linksVersion
        return Array((own + rest).utf8) + place
    }

    /// The record to remember.
    func sighting(_ lookup: UInt64) -> Sightings.Sighting? {
        guard usesInodes, status.kind == .document, let body = Body(status) else { return nil }
        return Sightings.Sighting(
            file: own, body: body, changed: status.changed, dress: dress.hashValue, lookup: lookup)
    }

    /// Empty for most items, which have no list.
    private var accessVersion: String {
        accessList.map { " acl \(UserAttributes.digest([AccessList.attribute: $0.bytes]))" } ?? ""
    }

    /// chattr(1) and link(2) change the change time as well.
    private var flagsVersion: String { status.flags == 0 ? "" : " flags \(status.flags)" }
    private var linksVersion: String { status.links == 1 ? "" : " links \(status.links)" }

    /// Empty for items that allow all operations.
    private var capabilitiesVersion: String { capabilities == .all ? "" : " may \(capabilities.rawValue)" }

    /// Empty for most items, which have none.
    private var attributesVersion: String {
        guard let attributes else { return " -" }
        return attributes.isEmpty ? "" : " \(UserAttributes.digest(attributes))"
    }

    /// Whether it has the name and the folder of `version`.
    func isInPlace(of version: MetadataVersion) -> Bool {
        version.bytes.suffix(place.count).elementsEqual(place)
    }

    var item: Item {
        let kind: ItemKind =
            switch status.kind {
            case .folder: .folder
            case .link: .symbolicLink(target: target ?? [])
            case .document, .special: .document
            }
        return Item(
            identifier: identifier, parentIdentifier: folder.identifier, filename: Filename(bytes: name),
            kind: kind, size: kind.isDocument ? status.size : 0,
            contentModificationDate: FileTime(status.modified), creationDate: status.born.map(FileTime.init),
            posixPermissions: permissions,
            version: ItemVersion(content: contentVersion, metadata: metadataVersion),
            extendedAttributes: attributes, capabilities: capabilities, isVolume: isVolume)
    }

    /// Whether another file system begins here, or another boundary that no rename crosses.
    private var isVolume: Bool {
        status.kind == .folder && identifier != .rootContainer
            && (status.isMountPoint || status.device != folder.status.device)
    }
}

extension FileTime {
    init(_ time: Timestamp) {
        self.init(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds))
    }
}

extension Timestamp {
    init(_ time: FileTime) { self.init(time.seconds, UInt32(time.subsecond)) }
}

extension Store {
    /// The present state of `name` in `folder`. Nil when nothing has the name, or something that is not an item:
    /// sockets, pipes, devices, our own temporary files, and files that lie too deep.
    func lookUp(_ name: [UInt8], in folder: Folder) throws(FileProviderError) -> Entry? {
        guard !OwnName.isOurs(name), mayHoldItems(folder) else { return nil }
        let place = Sightings.Place(folder: folder.identifier, name: name)
        var attempt = 0
        while true {
            attempt += 1
            let number = sightings.beginLookup()
            guard var entry = try readEntry(of: name, in: folder) else { return nil }
            if let sighting = entry.sighting(number) {
                let contents = sightings.contents(of: entry.identifier, at: place, sighting) {
                    [entry, attempt] digest in
                    seams.beforeComparing?(name)
                    let found = entry.compare(with: digest)
                    // A document that changes over and over counts as changed.
                    return found == .changedMeanwhile && attempt == 8 ? .different : found
                }
                guard let contents else { continue }
                (entry.racySince, entry.digest) = (contents.racySince, contents.digest)
            }
            index.note(entry.identifier, in: folder.identifier, as: name)
            return entry
        }
    }

    private func readEntry(of name: [UInt8], in folder: Folder) throws(FileProviderError) -> Entry? {
        guard var status = try folder.status(of: name) else { return nil }
        // The attributes are read by name, after the status: if another file has got the name in between, both are read
        // again.
        for _ in 0..<16 {
            let entry = try entry(status, named: name, in: folder)
            if entry == nil, status.kind == .special { return nil }
            guard let after = try folder.status(of: name) else { return nil }
            if let entry, after.isSameFile(as: status), after.links == status.links { return entry }
            status = after
        }
        throw FileProviderError(.busy, "\(folder.path(of: name)): other programs keep replacing it")
    }

    /// Nil for a file that is not an item, and when a link vanished before its target was read.
    private func entry(
        _ status: FileStatus, named name: [UInt8], in folder: Folder
    ) throws(FileProviderError) -> Entry? {
        let usesInodes = usesInodes(status, named: name, in: folder)
        let path = Identity.ofPath(folder.components + [name])
        let own =
            usesInodes
            ? Identity.ofInode(status, isOnRootDevice: status.device == root.status.device)! : path
        var identifier = own
        var target: [UInt8]?
        let file = AttributedFile(name, in: folder)
        // xattr(7): links have no user attributes.
        let mayHave = status.kind == .document || status.kind == .folder
        let names = mayHave && keepsAttributes(status, named: name, in: folder) ? try? file.names() : nil
        let accessList = mayHave ? accessList(of: file, names: names) : nil
        switch status.kind {
        case .special: return nil
        case .folder: break
        case .link:
            if status.links > 1 { identifier = path }
            do throws(FileProviderError) { target = try folder.target(of: name) } catch {
                if error.saysAbsent || error.saysFlagUnsupported { return nil }  // EINVAL: no link any more
                throw error
            }
        case .document where status.links > 1: identifier = path
        case .document:
            if usesInodes, names?.contains(Identity.attribute) ?? true,
                let value = try? file.value(of: Identity.attribute),
                let claimed = Identity.identifier(in: value, for: status, path: path)
            {
                let place = Sightings.Place(folder: folder.identifier, name: name)
                identifier =
                    claimed == path ? path : sightings.identifier(claimed: claimed, own: own, of: status, at: place)
            }
        }
        let shown = names.flatMap { UserAttributes.read(from: file, names: $0, upTo: seams.mostAttributeBytes) }
        let leftOut = shown?.leftOut ?? []
        if !leftOut.isEmpty { report(leftOut: leftOut, of: identifier, path: folder.path(of: name)) }
        return Entry(
            folder: folder, name: name, status: status, identifier: identifier, own: own, usesInodes: usesInodes,
            target: target, attributes: shown?.attributes, leftOutAttributes: leftOut, accessList: accessList,
            capabilities: Access(user: user).capabilities(of: status, named: name, in: folder))
    }

    /// Nil for most files. Where the names of the attributes are unknown, the list is requested by its name.
    private func accessList(of file: AttributedFile, names: [String]?) -> AccessList? {
        guard names?.contains(AccessList.attribute) ?? true else { return nil }
        return (try? file.value(of: AccessList.attribute)).map { AccessList(bytes: $0) }
    }

    /// The item of the root. Its attributes must not be changed, so they are not shown either.
    func rootItem() throws(FileProviderError) -> Item {
        let status = try naming(root.path()) { () throws(SystemError) in try root.descriptor.status() }
        let entry = Entry(
            folder: root, name: Array((rootPath.split(separator: "/").last.map(String.init) ?? "/").utf8),
            status: status, identifier: .rootContainer, own: .rootContainer, usesInodes: true, target: nil,
            attributes: nil, accessList: nil,
            capabilities: Access(user: user).capabilities(ofRoot: root))
        return entry.item
    }
}
