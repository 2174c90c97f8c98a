import ControlAPI
import Foundation

/// Identifies a file and the state of its contents.
struct FileStamp: Sendable, Equatable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }

    var modified: Date { Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9) }
}

/// The state of a file, or of a package, when it was read or written last.
indirect enum KnownContents: Sendable, Equatable {
    case file(FileStamp, digest: Int)
    /// A folder's own stamp does not count, because programs make temporary files in it.
    case package([String: KnownContents])

    /// The date of the last change in the file or package.
    var modified: Date {
        switch self {
        case .file(let stamp, _): stamp.modified
        case .package(let children): children.values.map(\.modified).max() ?? .distantPast
        }
    }
}

struct LoadedContents: Sendable {
    var contents: DocumentContents
    var known: KnownContents
}

/// Reads documents. Blocks.
struct FileReader {
    /// All files together, in bytes.
    let mostBytes: Int
    private var bytesLeft: Int
    private var entries = 0
    /// How often to read a file again that changes during the read.
    private static let tries = 5

    init(mostBytes: Int) {
        self.mostBytes = mostBytes
        bytesLeft = mostBytes
    }

    static func status(_ path: String) throws -> stat {
        var status = stat()
        guard ByteText.withPath(path, { lstat($0, &status) }) == 0 else {
            throw DocumentError.system(.unreadable, path)
        }
        return status
    }

    static func isFolder(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }
    static func isFile(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG }

    /// Whether the file or folder is empty, so that replacing it loses nothing.
    static func isEmpty(_ path: String) throws -> Bool {
        let status = try status(path)
        return isFolder(status) ? try FilePath.names(in: path).isEmpty : status.st_size == 0
    }

    /// Whether a name belongs to the package, and is not a program's temporary file.
    static func belongs(_ name: String) -> Bool { !name.hasPrefix(".hydrant-scoped-") }

    static func read(_ path: String, mostBytes: Int) throws -> LoadedContents {
        var reader = FileReader(mostBytes: mostBytes)
        return try reader.read(path, level: 1)
    }

    private mutating func read(_ path: String, level: Int) throws -> LoadedContents {
        entries += 1
        guard entries <= DocumentContents.mostEntries, level <= DocumentContents.mostLevels else {
            throw DocumentError(
                .tooLarge,
                "\(DocumentError.shown(path)): the package has more than \(DocumentContents.mostEntries) files and folders, "
                    + "or more than \(DocumentContents.mostLevels) levels of them")
        }
        let status = try Self.status(path)
        if Self.isFolder(status) {
            var (contents, known): ([String: DocumentContents], [String: KnownContents]) = ([:], [:])
            for name in try FilePath.names(in: path) where Self.belongs(name) {
                let child = try read(FilePath.child(path, name), level: level + 1)
                if contents.updateValue(child.contents, forKey: name) != nil {
                    throw DocumentError(
                        .unreadable,
                        "\(DocumentError.shown(path)): two files in it have the name “\(DocumentError.shown(name))”, whose letters are "
                            + "composed otherwise (Unicode NFC and NFD); rename one")
                }
                known[name] = child.known
            }
            return LoadedContents(contents: .package(contents), known: .package(known))
        }
        guard Self.isFile(status) else {
            throw DocumentError(
                .unreadable,
                "\(DocumentError.shown(path)): neither a file nor a folder; a document may hold nothing else"
            )
        }
        for _ in 1..<Self.tries {
            if let loaded = try readFile(path) { return loaded }
            usleep(20_000)
        }
        throw DocumentError(
            .unreadable, "\(DocumentError.shown(path)): a program keeps writing it; try again when it is done")
    }

    /// Nil: the file changed during the read.
    private mutating func readFile(_ path: String) throws -> LoadedContents? {
        let descriptor = ByteText.withPath(path) { Glibc.open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { throw DocumentError.system(.unreadable, path) }
        defer { close(descriptor) }
        var before = stat()
        guard fstat(descriptor, &before) == 0 else { throw DocumentError.system(.unreadable, path) }
        let size = before.st_size
        guard size <= bytesLeft else { throw tooLarge(path) }
        // Files that the kernel generates, as in /proc, report size 0.
        let data = try size > 0 ? Self.read(descriptor, size, path) : readToEnd(descriptor, path)
        guard let data else { return nil }
        var after = stat()
        guard fstat(descriptor, &after) == 0, FileStamp(after) == FileStamp(before) else { return nil }
        bytesLeft -= data.count
        let contents = DocumentContents.data(data)
        return LoadedContents(contents: contents, known: .file(FileStamp(before), digest: contents.digest))
    }

    /// Nil: the file has become shorter.
    private static func read(_ descriptor: Int32, _ size: Int, _ path: String) throws -> Data? {
        var data = Data(count: size)
        var done = 0
        while done < size {
            let count = data.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + done, size - done) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw DocumentError.system(.unreadable, path, errno, "; check that its store can be reached")
            }
            if count == 0 { return nil }
            done += count
        }
        return data
    }

    private func readToEnd(_ descriptor: Int32, _ path: String) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw DocumentError.system(.unreadable, path) }
            if count == 0 { return data }
            data.append(contentsOf: buffer[..<count])
            if data.count > bytesLeft { throw tooLarge(path) }
        }
    }

    private func tooLarge(_ path: String) -> DocumentError {
        DocumentError(.tooLarge, "\(DocumentError.shown(path)): the document has more than \(mostBytes) bytes")
    }

    // MARK: Comparing

    /// Whether a file is unchanged, without reading it.
    ///
    /// - Throws: ``DocumentError/Code/missing``.
    static func isAsKnown(_ path: String, _ known: KnownContents) throws -> Bool {
        let status = try Self.status(path)
        switch known {
        case .file(let stamp, _): return isFile(status) && FileStamp(status) == stamp
        case .package(let children):
            guard isFolder(status) else { return false }
            let names = try FilePath.names(in: path).filter(belongs)
            guard names.count == children.count else { return false }
            return try names.allSatisfy { name in
                guard let child = children[name] else { return false }
                do { return try isAsKnown(FilePath.child(path, name), child) } catch let error as DocumentError
                    where error.code == .missing
                { return false }
            }
        }
    }
}
