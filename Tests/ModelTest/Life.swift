import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import Logging
import SyncEngine
import Trees
import Volume

/// The daemon from one start to its death: catalog, content store, engine and volume over a state directory.
final class Life: @unchecked Sendable {
    // Unchecked: one thread alone uses it (see Schedule).
    let directory: String
    let catalog: Catalog
    let engine: SyncEngine
    let volume: Volume
    let store: GatedStore
    let backing: Backing

    init(directory: String, store: GatedStore, isPassthrough: Bool) throws {
        self.directory = directory
        self.store = store
        mkdir(directory, 0o700)
        backing = Backing(isAllowed: isPassthrough)
        catalog = try Catalog(path: directory + "/catalog.sqlite", domain: "model:", owner: (1_000, 1_000))
        var logger = Logger(label: "model") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        engine = SyncEngine(
            provider: store, catalog: catalog, store: try ContentStore(directory: directory + "/content"),
            times: SyncTimes(), defaults: PlaceholderDefaults(uid: 1_000, gid: 1_000), logger: logger,
            workers: Workers { job, executor in Schedule.shared.add(job, executor) })
        volume = Volume(engine: engine, kernel: Kernel(), backing: backing)
        try volume.recover()
        volume.engine.start()
    }

    /// The store's identifier of the item at a path, if it has one.
    func identifier(of path: String) -> ItemIdentifier? {
        try? catalog.read { reader in
            var inode = InodeID.root
            for name in path.split(separator: "/") {
                guard let next = try reader.child(of: inode, named: Filename(String(name))) else { return nil }
                inode = next.id
            }
            return try reader.item(of: inode)?.identifier
        }
    }

    /// Acts like SIGKILL: no code of this life runs any more, and its files are closed as they are. `heir` gets the
    /// state for the next life.
    ///
    /// The objects are kept: a killed process closes no database either.
    func kill(heir: String) throws {
        store.die()
        Self.graves.append(self)
        mkdir(heir, 0o700)
        for name in ["catalog.sqlite", "catalog.sqlite-wal"] where access(directory + "/" + name, F_OK) == 0 {
            try Files.copy(directory + "/" + name, to: heir + "/" + name)
        }
        guard rename(directory + "/content", heir + "/content") == 0 else { throw Files.Failure("rename", heir) }
        Files.closeAll(below: [directory + "/", heir + "/"])
    }

    nonisolated(unsafe) private static var graves: [Life] = []
}

/// There is no kernel: every look-up reaches the volume.
private struct Kernel: KernelNotifying {
    func invalidateEntry(in folder: NodeID, name: Filename) {}
    func expireEntry(in folder: NodeID, name: Filename) {}
    func invalidateAttributes(of node: NodeID) {}
    func invalidateContents(of node: NodeID) {}
}

/// Passthrough like the kernel's: reads and writes go to the local file.
///
/// Unchecked: one thread alone uses it (see ``Schedule``).
final class Backing: BackingRegistering, @unchecked Sendable {
    private var descriptors: [Int32: Int32] = [:]
    private var last: Int32 = 0
    private let isAllowed: Bool

    init(isAllowed: Bool) { self.isAllowed = isAllowed }

    func register(_ descriptor: Int32) -> Int32? {
        guard isAllowed else { return nil }
        last += 1
        descriptors[last] = dup(descriptor)
        return last
    }

    func unregister(_ backing: Int32) {
        if let descriptor = descriptors.removeValue(forKey: backing) { close(descriptor) }
    }

    func read(_ backing: Int32) -> [UInt8] { descriptors[backing].map { Files.read($0) } ?? [] }

    func write(_ backing: Int32, _ bytes: [UInt8], at offset: Int) -> Bool {
        guard let descriptor = descriptors[backing] else { return false }
        return pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count
    }
}

/// System calls for a life and its end.
enum Files {
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ call: String, _ path: String) { description = "\(call) \(path): \(String(cString: strerror(errno)))" }
    }

    static func read(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(bytes.count))
            if count <= 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    /// Nil when it cannot be read to its end; errno has the reason.
    static func whole(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(bytes.count))
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return read(descriptor)
    }

    static func copy(_ path: String, to new: String) throws {
        guard let bytes = read(path) else { throw Failure("read", path) }
        try write(bytes, to: new)
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure("write", path)
        }
        close(descriptor)
    }

    /// Closes every descriptor of this process on a file below one of the folders.
    static func closeAll(below folders: [String]) {
        for name in names("/proc/self/fd") {
            guard let number = Int32(name) else { continue }
            var target = [CChar](repeating: 0, count: 4_096)
            guard readlink("/proc/self/fd/\(name)", &target, target.count - 1) > 0 else { continue }
            let path = String(decoding: target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if folders.contains(where: path.hasPrefix) { close(number) }
        }
    }

    static func names(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    static func removeTree(_ path: String) {
        for name in names(path) {
            let inside = path + "/" + name
            if unlink(inside) != 0 { removeTree(inside) }
        }
        rmdir(path)
    }
}
