import FileProvider

/// One file of the store as it was at one moment, and the folder it was found in.
struct Entry: Sendable {
    let folder: Folder
    let name: [UInt8]
    let status: FileStatus
    let identifier: ItemIdentifier
    /// Whether inode numbers mean something here.
    let usesInodes: Bool
    /// Of a link.
    let target: [UInt8]?
    /// Those of its user; nil where none are kept, or where they may not be read.
    let attributes: [String: [UInt8]]?
    /// What the user of the store may do with it.
    let capabilities: ItemCapabilities

    var path: String { folder.path(of: name) }

    /// Never the change time (ctime): a rename would change it. Inode and birth time, where the file system
    /// has lasting ones, tell apart two documents of the same size and date; the inode alone does not, for
    /// it is used again.
    static func contentVersion(of status: FileStatus, usesInodes: Bool) -> ContentVersion {
        let body = usesInodes ? "\(status.inode):\(status.born.map { "\($0)" } ?? "-")" : "-"
        return ContentVersion("\(body):\(status.size):\(status.modified)")
    }

    var contentVersion: ContentVersion {
        switch status.kind {
        case .document: Self.contentVersion(of: status, usesInodes: usesInodes)
        case .link: ContentVersion(bytes: Array("link:".utf8) + (target ?? []))
        case .folder, .special: ContentVersion("folder")
        }
    }

    private var place: [UInt8] { Array(" \(folder.identifier.rawValue) ".utf8) + name }

    private var metadataVersion: MetadataVersion {
        let own = "\(String(status.permissions, radix: 8)) \(status.modified)"
        return MetadataVersion(bytes: Array((own + attributesVersion + capabilitiesVersion).utf8) + place)
    }

    /// Nothing for those that may be done everything with.
    private var capabilitiesVersion: String { capabilities == .all ? "" : " may \(capabilities.rawValue)" }

    /// Nothing for most items, which have none.
    private var attributesVersion: String {
        guard let attributes else { return " -" }
        return attributes.isEmpty ? "" : " \(UserAttributes.digest(attributes))"
    }

    /// Whether it has the name and the folder that it had at `version`.
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
            posixPermissions: status.permissions,
            version: ItemVersion(content: contentVersion, metadata: metadataVersion),
            extendedAttributes: attributes, capabilities: capabilities)
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
    /// What `name` in `folder` is now. Nil when nothing has the name, or something that is no item:
    /// sockets, pipes, devices, and our own temporary files.
    func look(at name: [UInt8], in folder: Folder) throws(FileProviderError) -> Entry? {
        guard TemporaryName.kind(of: name) == nil else { return nil }
        let entry = try lookAnyway(at: name, in: folder)
        if let entry { index.note(entry.identifier, in: folder.identifier, as: name) }
        return entry
    }

    /// As ``look(at:in:)``, also at a file of ours, and without a note of it.
    func lookAnyway(at name: [UInt8], in folder: Folder) throws(FileProviderError) -> Entry? {
        guard var status = try folder.status(of: name) else { return nil }
        // The attributes are read by name, after the status: if the name has got another file in between,
        // they do not belong together, and both are read again.
        for _ in 0..<16 {
            let entry = try entry(status, named: name, in: folder)
            if entry == nil, status.kind == .special { return nil }
            guard let after = try folder.status(of: name) else { return nil }
            if let entry, after.isSameFile(as: status), after.links == status.links { return entry }
            status = after
        }
        throw FileProviderError(.busy, "\(folder.path(of: name)): replaced over and over")
    }

    /// Nil for what is no item, and when a link vanished before its target was read.
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
        // xattr(7): a link has none of its user.
        let mayHave = status.kind == .document || status.kind == .folder
        let names = mayHave && keepsAttributes(status, named: name, in: folder) ? try? file.names() : nil
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
                let value = try? file.value(of: Identity.attribute)
            {
                identifier = Identity.identifier(in: value, for: status, path: path) ?? own
            }
        }
        return Entry(
            folder: folder, name: name, status: status, identifier: identifier, usesInodes: usesInodes,
            target: target, attributes: names.flatMap { UserAttributes.read(from: file, names: $0) },
            capabilities: Access(user: user).capabilities(of: status, named: name, in: folder))
    }

    /// What the root shows of itself. Its attributes are not ours to change, so they are not shown either.
    func rootItem() throws(FileProviderError) -> Item {
        let status = try naming(root.path()) { () throws(SystemError) in try root.descriptor.status() }
        let entry = Entry(
            folder: root, name: Array((rootPath.split(separator: "/").last.map(String.init) ?? "/").utf8),
            status: status, identifier: .rootContainer, usesInodes: true, target: nil, attributes: nil,
            capabilities: Access(user: user).capabilities(ofRoot: root))
        return entry.item
    }
}
