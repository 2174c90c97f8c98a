import CLinux
import CModelTest
import Glibc
import S3Harness

/// A real mount of the real daemon over a folder, for the same operations: it decides what is right.
///
/// The store's other client works in the folder itself, or in the bucket; a death is a SIGKILL.
final class MountedWorld {
    let directory: String
    /// The folder of the store, where it is one.
    private let store: String
    private(set) var other: any OtherClient
    /// Files that WebDAV lacks stay on this machine.
    let hasLinks: Bool
    private let state: String
    private let words: [String]
    var mount: String { directory + "/mnt" }
    private let hydrant: String
    private let log: ServerLog?

    /// A WebDAV server that serves a folder of this machine, or a bucket.
    struct Server {
        var url: String
        /// Emptied before each sequence. Empty: it is a bucket, of which each sequence has a part of its own.
        var folder: String
        /// A section of config.toml without its head.
        var settings: String
        /// Apache's log, or empty.
        var log = ""
        /// Of a bucket: the URL of its server, with the test's keys.
        var endpoint = ""
    }

    /// - Parameter server: nil: the store is a folder.
    init(directory: String, hydrant: String, server: Server?) throws {
        self.directory = directory
        self.hydrant = hydrant
        store = server?.folder ?? directory + "/store"
        log = server.flatMap { server in
            let path = server.url.split(separator: "/", maxSplits: 3).dropFirst(2).joined(separator: "/")
            return server.log.isEmpty ? nil : ServerLog(path: server.log, root: "/" + path)
        }
        hasLinks = server?.folder.isEmpty ?? true
        state = directory + (server == nil ? "/state" : "/log/hydrant/domains/test")
        words =
            server == nil
            ? ["mount", "dir:\(store)", directory + "/mnt", "--state-dir", state]
            : ["mount", "test", directory + "/mnt"]
        for folder in ["", "/store", "/mnt", "/run", "/log", "/.config", "/.config/hydrant"] {
            guard mkdir(directory + folder, 0o700) == 0 else { throw Files.Failure("mkdir", directory + folder) }
        }
        other = FolderClient(store, scratch: directory) { _ in ModelFile(.folder, mode: 0o755) }
        if let server {
            var url = server.url
            if server.folder.isEmpty {
                url += "/sequence-\(getpid())-\(cmodeltest_machine_clock())"
                other = try BucketClient(S3TestBucket.provider(url, endpoint: server.endpoint))
            } else {
                for name in Files.names(store) {
                    if unlink(store + "/" + name) != 0 { Files.removeTree(store + "/" + name) }
                }
            }
            let configuration = "[domains.test]\nurl = \"\(url)\"\n\(server.settings)\n"
            try Files.write(Array(configuration.utf8), to: directory + "/.config/hydrant/config.toml")
        }
        if server?.folder.isEmpty != true {
            other = FolderClient(store, scratch: directory) { [unowned self] in try self.tree($0) }
        }
        try start()
    }

    // MARK: The daemon

    func start() throws {
        let (status, output) = run(words + ["--hold-deletions", "100"])
        if status != 0 { throw Failure("cannot mount: \(output)") }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private var daemon: pid_t? {
        Files.read(state + "/lock").flatMap {
            pid_t(String(decoding: $0, as: UTF8.self).filter(\.isNumber))
        }
    }

    /// Sends SIGKILL; returns when the connection is gone.
    func kill() throws {
        guard let pid = daemon, pid > 1 else { throw Failure("no daemon") }
        Glibc.kill(pid, SIGKILL)
        try wait("the mount is dead") {
            var statistics = statvfs()
            return statvfs(mount, &statistics) != 0 && errno != EINTR
        }
        try start()
    }

    func wait(_ what: String, seconds: Int = 120, _ condition: () throws -> Bool) throws {
        let end = cmodeltest_machine_clock() + Int64(seconds) * 1_000_000_000
        while try !condition() {
            if cmodeltest_machine_clock() > end { throw Failure("\(what): not within \(seconds) s") }
            usleep(10_000)
        }
    }

    func end() {
        if let pid = daemon, pid > 1 {
            _ = run(["unmount", mount])
            if Glibc.kill(pid, 0) == 0 { Glibc.kill(pid, SIGKILL) }
        }
        umount2(mount, 2)
        Files.removeTree(directory)
    }

    /// Runs the command; returns its status and its output.
    func run(_ arguments: [String]) -> (status: Int32, output: String) {
        let file = directory + "/log/output"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var words = ([hydrant] + arguments).map { strdup($0) } + [nil]
        let settings = [
            "XDG_RUNTIME_DIR=\(directory)/run", "XDG_STATE_HOME=\(directory)/log", "XDG_DATA_HOME=\(directory)/log",
            "HOME=\(directory)", "HYDRANT_SETTLE=0.05", "HYDRANT_SETTLE_AFTER_SYNC=0.1", "HYDRANT_POLL=0.3",
            "LC_ALL=C.UTF-8",
            "PATH=\(String(cString: getenv("PATH") ?? strdup("/usr/bin:/bin")))",
        ]
        let mark = getenv("RUN_OF_HYDRANT_TESTS").map { "RUN_OF_HYDRANT_TESTS=" + String(cString: $0) }
        var variables = (settings + [mark].compactMap { $0 }).map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid = pid_t()
        guard posix_spawn(&pid, hydrant, &actions, nil, &words, &variables) == 0 else { return (127, "cannot start") }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        let output = Files.read(file).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return (status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f), output)
    }

    /// The changing requests of the mount that the server was carrying out at this time.
    func changes(during time: ClosedRange<Double>, at paths: [String]) -> [String] {
        log?.changes(during: time, at: paths) ?? []
    }

    // MARK: Trees

    /// A file that Apache is receiving.
    static func isUpload(_ name: String) -> Bool { name.hasPrefix(".davfs.tmp") }

    /// The tree below a folder, as seen by programs: names, kinds, bytes, modes, attributes, link counts.
    func tree(_ path: String) throws -> ModelFile {
        var byInode: [UInt64: ModelFile] = [:]
        func readTree(_ path: String) throws -> ModelFile? {
            var status = stat()
            guard lstat(path, &status) == 0 else {
                if errno == ENOENT { return nil }
                throw Files.Failure("lstat", path)
            }
            if let file = byInode[UInt64(status.st_ino)] { return file }
            let file: ModelFile
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                file = ModelFile(.folder, mode: status.st_mode & 0o7777)
                for name in Files.names(path)
                where !name.hasPrefix(".hydrant-") && name != ".DAV" && !Self.isUpload(name) {
                    guard let child = try readTree(path + "/" + name) else { continue }
                    child.names += 1
                    file.children[name] = child
                }
            case S_IFLNK:
                var target = [UInt8](repeating: 0, count: 4_096)
                let count = target.withUnsafeMutableBytes {
                    readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
                }
                file = ModelFile(.link, Array(target.prefix(max(0, count))), mode: 0o777)
            default:
                guard let bytes = Files.whole(path) else {
                    if errno == ENOENT { return nil }
                    // Replaced in the store, perhaps for good: the written part is kept.
                    let file = ModelFile(.document, mode: status.st_mode & 0o7777)
                    file.unreadable = Int(status.st_size)
                    file.inode = Int64(bitPattern: UInt64(status.st_ino))
                    byInode[UInt64(status.st_ino)] = file
                    return file
                }
                file = ModelFile(.document, bytes, mode: status.st_mode & 0o7777)
            }
            for name in Model.attributeNames where file.kind != .link {
                var value = [UInt8](repeating: 0, count: 1_000)
                let count = lgetxattr(path, name, &value, value.count)
                if count >= 0 { file.attributes[name] = Array(value[..<count]) }
            }
            file.inode = Int64(bitPattern: UInt64(status.st_ino))
            byInode[UInt64(status.st_ino)] = file
            return file
        }
        guard let root = try readTree(path) else { throw Failure("\(path) is gone") }
        return root
    }
}
