import ContentStore
import FileProvider
import ItemCatalog
import SyncEngine
import Trees

/// The tree that the mount would show, found without access to it: that would start downloads, and disturb the test.
///
/// For bytes that are not here, the store's version is known, and so are the bytes.
struct Observation {
    let root: ModelFile
    /// Folders that were not listed yet.
    private(set) var unlisted: Set<String> = []
    /// Documents whose base version was replaced in the store before all of it was here: the written part is kept, and
    /// the document cannot be whole any more. With the bytes here (nil: missing).
    private(set) var torn: [String: [UInt8?]] = [:]
    /// The content version of each unmodified document, by path; for messages.
    private(set) var facts: [String: String] = [:]

    /// For a tree read by programs.
    init(root: ModelFile) { self.root = root }

    /// - Parameter known: the bytes of a version of the store.
    init(_ life: Life, known: (ItemIdentifier, ContentVersion) -> [UInt8]?) throws {
        let root = ModelFile(.folder, mode: 0o755)
        var unlisted: Set<String> = []
        var facts: [String: String] = [:]
        var torn: [String: [UInt8?]] = [:]
        var byInode: [Int64: ModelFile] = [:]
        var tornInodes: [Int64: [UInt8?]] = [:]
        try life.catalog.read { reader in
            func file(of record: InodeRecord, _ path: String) throws -> ModelFile {
                if let file = byInode[record.id.rawValue] {
                    torn[path] = tornInodes[record.id.rawValue]
                    return file
                }
                let item = try reader.item(of: record.id)
                let file: ModelFile
                switch record.kind {
                case .folder: file = ModelFile(.folder, mode: record.mode)
                case .link: file = ModelFile(.link, record.target ?? [], mode: record.mode)
                default:
                    let bytes = try Self.bytes(of: record, item, life, known)
                    if let item, item.identifier == nil, let present = record.extents {
                        torn[path] = bytes.indices.map { present.contains(Int64($0)) ? bytes[$0] : nil }
                        tornInodes[record.id.rawValue] = torn[path]
                    }
                    file = ModelFile(.document, bytes, mode: record.mode)
                }
                facts[path] =
                    "inode \(record.id.rawValue).\(record.generation) \(item?.identifier?.rawValue ?? "-")"
                    + (item?.isModified == true ? " modified" : "") + (record.extents == nil ? "" : " partial")
                    + (record.writing == nil ? "" : " writing") + (item?.isExcluded == true ? " excluded" : "")
                    + (item?.failure.map { " failed: \($0.code) \($0.message)" } ?? "")
                (file.inode, file.generation) = (record.id.rawValue, record.generation)
                for name in try reader.extendedAttributeNames(of: record.id) where name.starts(with: "user.".utf8) {
                    file.attributes[String(decoding: name, as: UTF8.self)] =
                        try reader.extendedAttribute(name, of: record.id)
                }
                byInode[record.id.rawValue] = file
                return file
            }
            func collect(_ folder: InodeID, _ into: ModelFile, _ prefix: String) throws {
                if try !reader.inode(folder).isEnumerated { unlisted.insert(prefix) }
                for entry in try reader.children(of: folder, after: 0, limit: 10_000) {
                    let path = prefix.isEmpty ? entry.name.string : prefix + "/" + entry.name.string
                    let child = try file(of: entry.inode, path)
                    child.names += 1
                    into.children[entry.name.string] = child
                    if entry.inode.isFolder { try collect(entry.inode.id, child, path) }
                }
            }
            try collect(.root, root, "")
        }
        (self.root, self.unlisted, self.facts, self.torn) = (root, unlisted, facts, torn)
    }

    private static func bytes(
        of record: InodeRecord, _ item: ItemRecord?, _ life: Life,
        _ known: (ItemIdentifier, ContentVersion) -> [UInt8]?
    ) throws -> [UInt8] {
        let path = "\(life.directory)/content/storage"
        let shard = Files.names(path).lazy.map { "\(path)/\($0)/\(record.id.rawValue).\(record.generation)" }
        var bytes = shard.compactMap { Files.read($0) }.first ?? []
        guard let extents = record.extents else { return bytes }
        let open = life.engine.mount.store.opened(.init(inode: record.id.rawValue, number: record.generation))
        let present = open.map { $0.present } ?? extents
        guard let present else { return bytes }
        Model.resize(&bytes, Int(record.size))
        guard let item, let identifier = item.identifier, let version = item.baseVersion?.content,
            let base = known(identifier, version)
        else { return bytes }
        let limit = Int(min(open?.baseSize ?? record.baseSize, record.size))
        for index in 0..<min(limit, base.count) where !present.contains(Int64(index)) { bytes[index] = base[index] }
        return bytes
    }

    /// The difference to another tree; nil: none. Ignores files that are being written.
    func difference(from model: ModelFile) -> String? {
        let (here, there) = (Self.paths(root), Self.paths(model))
        for (path, file) in there.sorted(by: { $0.key < $1.key }) {
            guard let seen = here[path] else { return "/\(path) is missing" }
            if seen.kind != file.kind { return "/\(path) is a \(seen.kind), not a \(file.kind)" }
            if !file.isUnsaved && seen.bytes != file.bytes {
                return "/\(path) holds \(Contents.show(seen.bytes)), not \(Contents.show(file.bytes))"
            }
            if seen.mode != file.mode {
                return "/\(path) has the mode \(String(seen.mode, radix: 8)), not \(String(file.mode, radix: 8))"
            }
            if seen.attributes != file.attributes {
                return
                    "/\(path) has the attributes \(seen.attributes.keys.sorted()), not \(file.attributes.keys.sorted()), or other values"
            }
            if seen.names != file.names { return "/\(path) has \(seen.names) names, not \(file.names)" }
        }
        for path in here.keys.sorted() where there[path] == nil { return "/\(path) came from nowhere" }
        return nil
    }

    /// Whether the file with an inode number is still the same file for its openers.
    private func isSame(_ old: ModelFile, _ seen: ModelFile, _ open: [ModelFile]) -> Bool {
        if old.isFolder || old.bytes == seen.bytes { return true }
        if !open.contains(where: { $0 === old }) { return true }
        // Contents that are being written may be ahead of those seen; a replaced document is another generation.
        return old.isUnsaved && old.generation != nil && old.generation == seen.generation
    }

    /// The files that programs have open, by the mount's own account. A file that has lost its name, or whose bytes the
    /// store has replaced, is not in the tree.
    private func openFiles(_ model: Model, _ opened: (Int) -> OpenFile?) -> [Int64: ModelFile] {
        var found: [Int64: ModelFile] = [:]
        let here = Set(
            root.walk().compactMap { _, file in
                file.generation.flatMap { generation in
                    file.inode.map { OpenFile(inode: $0, generation: generation) }
                }
            })
        for (number, slot) in model.slots {
            guard let file = opened(number) else { continue }
            (slot.file.inode, slot.file.generation) = (file.inode, file.generation)
            if here.contains(file) { found[file.inode] = slot.file }
        }
        return found
    }

    static func paths(_ root: ModelFile) -> [String: ModelFile] {
        Dictionary(uniqueKeysWithValues: root.walk().map { ($0.path, $0.file) })
    }

    /// This tree for the model: known files keep their identity, so that their openers go on with them.
    ///
    /// - Parameter opened: the file open in a slot, by the mount's account; nil: unknown.
    func tree(keeping model: Model, opened: ((Int) -> OpenFile?)? = nil) -> ModelFile {
        // A file that a program has just made is the one that has its name.
        let here = Self.paths(root)
        for (path, file) in model.root.walk() where file.inode == nil && here[path]?.kind == file.kind {
            (file.inode, file.generation) = (here[path]?.inode, here[path]?.generation)
        }
        var known: [Int64: ModelFile] = [:]
        for (_, file) in model.root.walk() { if let inode = file.inode { known[inode] = file } }
        let open = model.slots.values.map(\.file)
        let reported = opened.map { openFiles(model, $0) }
        if let reported {
            for file in open { known = known.filter { $0.value !== file } }
            known.merge(reported) { $1 }
        } else {
            for file in open where !file.isUnlinked {
                if let inode = file.inode, known[inode] == nil { known[inode] = file }
            }
        }
        var made: [ObjectIdentifier: ModelFile] = [:]
        func same(_ seen: ModelFile) -> ModelFile {
            if let done = made[ObjectIdentifier(seen)] { return done }
            var file = seen
            if let old = seen.inode.flatMap({ known[$0] }), old.kind == seen.kind,
                reported != nil || isSame(old, seen, open)
            {
                if !old.isUnsaved { old.bytes = seen.bytes }
                old.unreadable = seen.unreadable
                (old.mode, old.attributes, old.names, old.isUnlinked) = (seen.mode, seen.attributes, 0, false)
                old.generation = seen.generation
                old.children = [:]
                file = old
            } else if reported == nil,
                let split = open.first(where: {
                    $0.inode != seen.inode && $0.bytes == seen.bytes && !$0.isUnlinked && seen.kind == .document
                        && !seen.bytes.isEmpty
                })
            {
                // Its openers go on with their own bytes, as an inode of their own.
                (split.inode, split.generation) = (seen.inode, seen.generation)
                (split.mode, split.attributes, split.names) = (seen.mode, seen.attributes, 0)
                file = split
            }
            made[ObjectIdentifier(seen)] = file
            return file
        }
        func build(_ seen: ModelFile) -> ModelFile {
            let children = seen.children
            let file = same(seen)
            if file === seen { file.names = 0; file.children = [:] }
            for (name, child) in children {
                let inside = made[ObjectIdentifier(child)] ?? build(child)
                inside.names += 1
                file.children[name] = inside
            }
            return file
        }
        return build(root)
    }
}
