import FileProvider

/// The archive as folders and documents: each place in it once, all of them below the top.
///
/// However the entries contradict each other, the same archive gives the same tree: of two at one place the later one
/// counts, as for unzip(1); and what has something in it is a folder, so that no link can stand in the way to a document.
struct ArchiveTree: Sendable {
    struct Node: Sendable {
        let item: Item
        /// The entry; nil for a folder that is only in the names of others.
        let entry: ArchiveEntry?
    }

    private(set) var nodes: [ItemIdentifier: Node] = [:]
    private var children: [ItemIdentifier: [ItemIdentifier]] = [:]
    /// What is not shown, and why: a line each.
    private(set) var omissions: [String] = []

    /// - Parameters:
    ///   - target: reads where a link leads.
    init(
        entries: some Sequence<ArchiveEntry>, stamp: ArchiveStamp,
        target: (ArchiveEntry) throws(FileProviderError) -> [UInt8]
    ) {
        var folders: [EntryPath: ArchiveEntry?] = [.root: nil]
        var leaves: [EntryPath: ArchiveEntry] = [:]
        for entry in entries {
            do throws(EntryPath.Refused) {
                let path = try EntryPath(entry)
                if entry.kind == .other { throw EntryPath.Refused("it is neither document, folder nor symbolic link") }
                if entry.size == nil { throw EntryPath.Refused("it says that it is larger than a file can be") }
                if entry.kind == .folder {
                    folders[path] = entry
                } else if let earlier = leaves.updateValue(entry, forKey: path) {
                    omit(earlier, "a later entry has the same name")
                }
                var above = path.folder
                while folders[above] == nil {
                    folders[above] = .some(nil)
                    above = above.folder
                }
            } catch { omit(entry, error.reason) }
        }
        for (path, entry) in folders.sorted(by: Self.isBefore) {
            add(path, .folder, entry, stamp)
        }
        for (path, entry) in leaves.sorted(by: Self.isBefore) {
            if folders[path] != nil {
                omit(entry, "it has the name of a folder")
            } else if entry.kind == .document {
                add(path, .document, entry, stamp)
            } else {
                do throws(FileProviderError) { add(path, .symbolicLink(target: try target(entry)), entry, stamp) } catch
                {
                    omit(entry, error.message)
                }
            }
        }
    }

    func items(in folder: ItemIdentifier) -> [Item] {
        (children[folder] ?? []).compactMap { nodes[$0]?.item }
    }

    private static func isBefore<Value>(_ a: (key: EntryPath, value: Value), _ b: (key: EntryPath, value: Value))
        -> Bool
    {
        a.key.bytes.lexicographicallyPrecedes(b.key.bytes)
    }

    private mutating func omit(_ entry: ArchiveEntry, _ reason: String) {
        omissions.append("\(String(decoding: entry.name, as: UTF8.self)): \(reason)")
    }

    private mutating func add(_ path: EntryPath, _ kind: ItemKind, _ entry: ArchiveEntry?, _ stamp: ArchiveStamp) {
        let identifier = Self.identifier(kind, path)
        guard nodes[identifier] == nil else {
            if let entry { omit(entry, "its long name cannot be told from another one") }
            return
        }
        let parent = Self.identifier(.folder, path.folder)
        let item = Item(
            identifier: identifier, parentIdentifier: parent, filename: path.filename, kind: kind,
            size: kind.isDocument ? entry?.size ?? 0 : 0, contentModificationDate: entry?.modified ?? stamp.modified,
            posixPermissions: kind.isDocument || kind.isFolder ? entry?.permissions : nil,
            version: Self.version(kind, entry, stamp))
        nodes[identifier] = Node(item: item, entry: entry)
        if !path.isRoot { children[parent, default: []].append(identifier) }
    }

    private static func identifier(_ kind: ItemKind, _ path: EntryPath) -> ItemIdentifier {
        path.isRoot ? .rootContainer : ItemIdentifier(kind: kind, path: path.bytes)
    }

    /// A checksum of 32 bits does not tell any two contents apart, so the archive's own state is part of both versions.
    private static func version(_ kind: ItemKind, _ entry: ArchiveEntry?, _ stamp: ArchiveStamp) -> ItemVersion {
        let place = entry.map { "\($0.index)" } ?? "-"
        let contents = entry.map { "\($0.checksum)-\($0.size ?? 0)-\($0.modified.nanoseconds)" } ?? "-"
        return ItemVersion(
            content: ContentVersion(kind.isFolder ? "folder" : "\(contents)@\(stamp.text)"),
            metadata: MetadataVersion("\(place)@\(stamp.text)"))
    }
}
