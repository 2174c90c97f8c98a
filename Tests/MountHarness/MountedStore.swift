import Foundation
import Synchronization

/// The store of a scenario's documents.
package enum StoreKind: String, CaseIterable, Sendable {
    /// A directory of this machine: `dir:`.
    case directory
    /// The same directory, served by Apache over HTTPS.
    case webdav
    /// A store of the test's own, as ``MountedStore/setDomain(_:)`` describes it.
    case domain

    /// WebDAV has no symbolic links: those made at the mount stay there.
    package var hasLinks: Bool { self == .directory }

    /// From `HYDRANT_TEST_STORE`; a directory by default.
    package static let usual: StoreKind = {
        guard let name = ProcessInfo.processInfo.environment["HYDRANT_TEST_STORE"] else { return .directory }
        guard let kind = StoreKind(rawValue: name) else {
            fatalError("HYDRANT_TEST_STORE: “\(name)” is no kind of store")
        }
        return kind
    }()
}

/// Options of a scenario's mount.
package struct MountOptions: Sendable {
    package var store = StoreKind.usual
    package var passthrough = true
    /// Seconds from the last writable close to the upload. Large values keep a change pending until sync.
    package var settle = 0.1
    package var settleAfterSync = 0.2
    package var readTimeout = 30.0
    package var environment: [String: String] = [:]
    package var arguments: [String] = []
    /// Seconds for the whole scenario.
    package var limit = 40.0
    /// Runs no other scenario at the same time: for those that measure time.
    package var isAlone = false
    package init() {}

    /// The default options with some changes.
    package static func with(_ change: (inout MountOptions) -> Void) -> MountOptions {
        var options = MountOptions()
        change(&options)
        return options
    }
    package static var cached: MountOptions { .with { $0.passthrough = false } }
    /// Keeps changes pending until `hydrant sync`.
    package static var lateUploads: MountOptions {
        .with {
            $0.settle = 3_600
            $0.settleAfterSync = 3_600
        }
    }
}

/// A directory of documents, mounted by the real command with a daemon of its own. Every call blocks; call it only on a
/// scenario's thread.
package final class MountedStore: Sendable {
    package let sandbox: Sandbox
    package let options: MountOptions
    package var store: String { sandbox.store }
    package var mountPoint: String { sandbox.mountPoint }
    package var scratch: String { sandbox.scratch }
    private let logStart = Mutex(0)
    /// This machine's own server, and that of another machine.
    let serving = Mutex<TestServer?>(nil)
    let guest = Mutex<TestServer?>(nil)

    package init(_ sandbox: Sandbox, _ options: MountOptions) {
        self.sandbox = sandbox
        self.options = options
    }

    /// Variables for the command, besides the sandbox's.
    package var environment: [String: String] {
        var all = options.environment
        all["HYDRANT_SETTLE"] = all["HYDRANT_SETTLE"] ?? "\(options.settle)"
        all["HYDRANT_SETTLE_AFTER_SYNC"] = all["HYDRANT_SETTLE_AFTER_SYNC"] ?? "\(options.settleAfterSync)"
        all["HYDRANT_READ_TIMEOUT"] = all["HYDRANT_READ_TIMEOUT"] ?? "\(options.readTimeout)"
        // On a busy machine presenters need more time as well.
        all["HYDRANT_PRESENTER_PATIENCE"] = all["HYDRANT_PRESENTER_PATIENCE"] ?? "120"
        // A server reports no changes, so poll often.
        if options.store != .directory { all["HYDRANT_POLL"] = all["HYDRANT_POLL"] ?? "0.3" }
        if !options.passthrough { all["HYDRANT_PASSTHROUGH"] = "0" }
        return all
    }

    // MARK: Mounting

    /// The arguments that mount the store, with its state in `sandbox.state`.
    package var mountWords: [String] {
        switch options.store {
        case .directory: ["mount", "dir:\(store)", mountPoint, "--state-dir", sandbox.state]
        case .webdav, .domain: ["mount", "test", mountPoint]
        }
    }

    /// The arguments that mount the store, plus `arguments`.
    package func mountCommand(_ arguments: [String] = []) -> [String] {
        mountWords + ["--log-level", "debug"] + options.arguments + arguments
    }

    package func mount() throws {
        if options.store == .webdav { _ = try server() }
        let result = try hydrant(mountCommand())
        guard result.succeeded else { throw HarnessError("cannot mount: \(result)") }
        sandbox.note(daemon: try daemonPID())
    }

    package func daemonPID() throws -> Int32 {
        let text = try Seeding(sandbox.state).text("lock")
        guard let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)), pid > 1 else {
            throw HarnessError("no process id in the lock file: “\(text)”")
        }
        return pid
    }

    /// Sends SIGKILL, and waits until the process and its connection are gone. The dead mount stays.
    package func kill9() throws {
        let pid = try daemonPID()
        guard kill(pid, SIGKILL) == 0 else { throw HarnessError("kill \(pid): \(String(cString: strerror(errno)))") }
        try waitUntil(10, "the daemon is gone") { !Self.isAlive(pid) }
        // Its threads may outlive the process. statfs is never answered from a cache.
        try waitUntil(10, "the mount is dead") {
            var statistics = statvfs()
            return statvfs(mountPoint, &statistics) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
        }
    }

    /// A process that has ended but was not collected yet counts as gone.
    package static func isAlive(_ pid: Int32) -> Bool {
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return false }
        let text = String(decoding: data, as: UTF8.self)
        guard let end = text.range(of: ") ", options: .backwards) else { return true }
        return !"ZX".contains(text[end.upperBound])
    }

    package func unmount() throws {
        // (On a busy disk, syncing the daemon's data takes time.)
        let result = try hydrant(["unmount", "--timeout", "120", mountPoint], limit: 40)
        guard result.succeeded else { throw HarnessError("cannot unmount: \(result)") }
    }

    package func remount() throws {
        if isMounted, try Self.isAlive(daemonPID()) { try unmount() }
        try mount()
    }

    /// Whether the kernel has a mount there.
    package var isMounted: Bool { !KernelMount.below(mountPoint).isEmpty }

    // MARK: Commands

    package func hydrant(_ arguments: [String], limit: Double = 20) throws -> ChildResult {
        try sandbox.run([Sandbox.executable] + arguments, environment: environment, limit: limit)
    }

    /// Runs a script in the mount with `$STORE`, `$MOUNT`, `$SCRATCH` and `$HYDRANT`. It stops at the first error.
    package func shell(_ script: String, limit: Double = 20) throws -> ChildResult {
        try start(script).wait(limit: limit)
    }

    /// As ``shell(_:limit:)``, without waiting.
    package func start(_ script: String) throws -> ChildProcess {
        try sandbox.spawn(
            ["bash", "-c", "set -e -o pipefail; cd \"$MOUNT\"\n" + script], environment: environment)
    }

    /// As ``shell(_:limit:)``; throws unless it succeeds. Returns its output.
    @discardableResult
    package func run(_ script: String, limit: Double = 20) throws -> String {
        let result = try shell(script, limit: limit)
        guard result.succeeded else { throw HarnessError("“\(script)”: \(result)") }
        return result.stdout
    }

    /// `hydrant sync`; throws when a change stays pending.
    package func sync(limit: Double = 20) throws {
        let result = try hydrant(["sync", mountPoint, "--timeout", "\(limit * patience)"], limit: limit + 5)
        guard result.succeeded else { throw HarnessError("sync: \(result)\n\(reasons)\n\(logTail)") }
    }

    /// Why something may still be pending: requests of the kernel that nobody has answered, what waits, open files of
    /// the mount and of the daemon, and the catalog's last rows.
    private var reasons: String {
        let questions = """
            echo "requests: $(cat "/sys/fs/fuse/connections/$(mountpoint -d "$MOUNT" | cut -d: -f2)/waiting")"
            "$HYDRANT" status "$MOUNT"; "$HYDRANT" status "$MOUNT" "$MOUNT"/*
            ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "$(dirname "$MOUNT")/"
            /usr/bin/python3 - "\(sandbox.state)/catalog.sqlite" <<'END'
            import sqlite3, sys
            catalog = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
            catalog.row_factory = sqlite3.Row
            for table in ("item", "inode"):
                for row in catalog.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 8"):
                    print(table, {name: row[name] for name in row.keys() if row[name] not in (None, 0)})
            END
            """
        return (try? shell("{ \(questions)\n} 2>&1"))?.stdout ?? ""
    }

    /// Nil when store and mount are equal, byte for byte; else the differences. Ignores drafts of uploads, which the
    /// provider keeps beside the documents, and thumbnails.
    package func difference() throws -> String? {
        let result = try shell(
            "diff -r --no-dereference -x '.hydrant-*.tmp' -x .hydrant-thumbnails -x .DAV \"$STORE\" \"$MOUNT\"",
            limit: 30)
        return result.succeeded ? nil : result.stdout + result.stderr
    }

    /// The provider's own files in the store: drafts of uploads, and leftovers of a crash.
    package func drafts() throws -> [String] {
        try run("find \"$STORE\" -name '.hydrant-*.tmp' -printf '%P\\n' 2>/dev/null || true").split(separator: "\n")
            .map(String.init)
    }

    /// Throws the differences between store and mount.
    package func requireSameAsStore() throws {
        if let difference = try difference() { throw HarnessError("store and mount differ:\n\(difference)") }
    }

    // MARK: The log

    /// The hooks called since the mount or ``forgetCalls()``.
    package func hookCalls() -> [LoggedCall] {
        Array(LoggedCall.all(inLog: sandbox.log).dropFirst(logStart.withLock { $0 }))
    }

    package func forgetCalls() {
        let count = LoggedCall.all(inLog: sandbox.log).count
        logStart.withLock { $0 = count }
    }

    /// The number of log lines that contain `text`.
    package func logLines(with text: String) throws -> Int {
        let log = try Data(contentsOf: URL(filePath: sandbox.log, directoryHint: .notDirectory))
        return String(decoding: log, as: UTF8.self).split(separator: "\n").count { $0.contains(text) }
    }

    package var logTail: String {
        let data = FileManager.default.contents(atPath: sandbox.log) ?? Data()
        return String(decoding: data.suffix(4_000), as: UTF8.self)
    }
}

extension MountOptions: CustomStringConvertible {
    package var description: String { passthrough ? "passthrough" : "without passthrough" }
}
