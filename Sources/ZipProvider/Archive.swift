import FileProvider
import Logging

/// The archive in any state: notices that it was replaced, and opens it again.
///
/// An actor with a thread of its own (``ArchiveExecutor``): so libzip blocks no other task, and is used by one thread
/// at a time.
actor Archive {
    private struct Opened {
        let file: ArchiveFile
        let tree: ArchiveTree
    }

    /// The bytes unpacked at a time; then other calls have their turn.
    private static let piece = 256 << 10
    /// The number of readers kept for a download that continues where they stopped.
    private static let idleReaders = 4
    /// The number of omitted entries that are logged.
    private static let loggedOmissions = 20

    private let executor: ArchiveExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let path: String
    private let logger = Logger(label: "zip")
    private var opened: Opened?
    /// Reading the second half of a packed entry requires unpacking the first; these readers have done so.
    private var idle: [EntryReader] = []

    init(path: String) {
        self.path = path
        executor = ArchiveExecutor(label: "archive \(path)")
    }

    // MARK: Looking

    /// For the archive that is there now, if it can be opened.
    func stamp() throws(FileProviderError) -> ArchiveStamp { try current().file.stamp }

    func node(_ identifier: ItemIdentifier) throws(FileProviderError) -> ArchiveTree.Node {
        guard let node = try current().tree.node(identifier) else {
            throw FileProviderError(.noSuchItem, "\(path): has no entry \(identifier)")
        }
        return node
    }

    func items(in folder: ItemIdentifier) throws(FileProviderError) -> [Item] {
        guard try node(folder).item.kind.isFolder else {
            throw FileProviderError(.unsupported, "\(path): \(folder) is not a folder")
        }
        return try current().tree.items(in: folder)
    }

    private func current() throws(FileProviderError) -> Opened {
        let stamp = try ArchiveStamp(path: path)
        if let opened, opened.file.stamp == stamp { return opened }
        let file = try ArchiveFile(path: path)
        let tree = ArchiveTree(entries: (0..<file.count).lazy.compactMap(file.entry), stamp: file.stamp) {
            entry throws(FileProviderError) in try Self.target(of: entry, in: file)
        }
        for omission in tree.omissions.prefix(Self.loggedOmissions) {
            logger.warning("an entry is not shown: \(omission)", metadata: ["archive": "\(path)"])
        }
        if tree.omissionCount > Self.loggedOmissions {
            let rest = tree.omissionCount - Self.loggedOmissions
            logger.warning("\(rest) more entries are not shown", metadata: ["archive": "\(path)"])
        }
        let new = Opened(file: file, tree: tree)
        opened = new
        idle = []
        return new
    }

    /// A link's contents are its target.
    private static func target(of link: ArchiveEntry, in file: ArchiveFile) throws(FileProviderError) -> [UInt8] {
        guard !link.isEncrypted, let size = link.size, (1...4_095).contains(size) else {
            throw FileProviderError(.unsupported, "the link's target cannot be read")
        }
        let bytes = try file.reader(of: link).read(Int(size))
        if bytes.contains(0) { throw FileProviderError(.unsupported, "the link's target contains a NUL byte") }
        return bytes
    }

    // MARK: Downloading

    func send(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>, into sink: any ContentSink
    ) async throws(FileProviderError) {
        let node = try node(identifier)
        let file = try requireSame(identifier, version)
        guard node.item.kind.isDocument, let entry = node.entry, range.lowerBound >= 0,
            range.upperBound <= node.item.size
        else {
            throw FileProviderError(.unsupported, "\(path): \(identifier) has no bytes \(range)")
        }
        if entry.isEncrypted {
            throw FileProviderError(
                .unsupported,
                "\(path): \(entry.shownName): is encrypted; unpack it with a program that asks for the password")
        }
        let reader = try takeReader(of: entry, in: file, at: range.lowerBound)
        while reader.position < range.upperBound {
            if Task.isCancelled {
                throw FileProviderError(.cancelled, "\(path): \(entry.shownName): the download was cancelled")
            }
            let offset = reader.position
            let end = offset < range.lowerBound ? range.lowerBound : range.upperBound
            let bytes: [UInt8]
            do throws(FileProviderError) {
                bytes = try reader.read(Int(min(end - offset, Int64(Self.piece))))
            } catch {
                // An archive that looks damaged may be another one that is being written to the same file.
                _ = try requireSame(identifier, version)
                throw error
            }
            _ = try requireSame(identifier, version)
            if offset < range.lowerBound { await Task.yield() } else { try await sink.write(bytes, at: offset) }
        }
        if range.upperBound < node.item.size { idle = (idle + [reader]).suffix(Self.idleReaders) }
    }

    /// The open archive, if it still has these contents of the item.
    private func requireSame(
        _ identifier: ItemIdentifier, _ version: ContentVersion
    ) throws(FileProviderError) -> ArchiveFile {
        let item = try node(identifier).item
        guard let file = opened?.file, item.version.content == version else {
            throw FileProviderError(
                .versionMismatch, "\(path): was replaced, and \(item.filename) has changed", item: item)
        }
        return file
    }

    private func takeReader(
        of entry: ArchiveEntry, in file: ArchiveFile, at offset: Int64
    ) throws(FileProviderError) -> EntryReader {
        let usable = idle.indices.filter { idle[$0].entry.index == entry.index && idle[$0].position <= offset }
        if let nearest = usable.max(by: { idle[$0].position < idle[$1].position }) {
            let reader = idle.remove(at: nearest)
            reader.jump(to: offset)
            return reader
        }
        let reader = try file.reader(of: entry)
        reader.jump(to: offset)
        return reader
    }
}
