import Foundation
import Synchronization

/// The directories of one scenario, and the processes that it started. Paths are short, as a socket's path has at most
/// 108 bytes.
package final class Sandbox: Sendable {
    package let path: String
    package var store: String { path + "/store" }
    package var mountPoint: String { path + "/mnt" }
    package var state: String { path + "/state" }
    package var runtime: String { path + "/run" }
    /// Free for the test's own use.
    package var scratch: String { path + "/tmp" }
    package var log: String { path + "/log/hydrant/hydrant.log" }

    private struct State {
        var children: [ChildProcess] = []
        var count = 0
        /// Known daemons, to be killed at the end.
        var daemons: Set<pid_t> = []
        var isOver = false
    }
    private let record = Mutex(State())

    package init() throws {
        Self.sweep
        var template = Array("/tmp/hyt-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw HarnessError("mkdtemp: \(String(cString: strerror(errno)))") }
        path = String(cString: made)
        for folder in ["store", "mnt", "run", "tmp", "log", "data", "home", "out"] {
            guard mkdir(path + "/" + folder, 0o700) == 0 else {
                throw HarnessError("mkdir: \(String(cString: strerror(errno)))")
            }
        }
        _ = FileManager.default.createFile(atPath: path + "/owner", contents: Data("\(getpid())".utf8))
    }

    /// Removes leftovers of crashed test processes, once per run.
    private static let sweep: Void = {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/tmp")) ?? [] where name.hasPrefix("hyt-") {
            let path = "/tmp/" + name
            guard let data = FileManager.default.contents(atPath: path + "/owner"),
                let owner = Int32(String(decoding: data, as: UTF8.self)), kill(owner, 0) != 0, errno == ESRCH
            else { continue }
            do { try Sandbox(existing: path).remove() } catch { print("harness: \(path): \(error)") }
        }
    }()

    private init(existing path: String) { self.path = path }

    /// The environment of children, without the user's own mounts and settings.
    package func environment(_ extra: [String: String]) -> [String: String] {
        var all = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("HYDRANT_") && !$0.key.hasPrefix("XDG_") && !$0.key.hasPrefix("GIT_")
        }
        all["XDG_RUNTIME_DIR"] = runtime
        all["XDG_STATE_HOME"] = path + "/log"
        all["XDG_DATA_HOME"] = path + "/data"
        all["HOME"] = path + "/home"
        all["LC_ALL"] = "C.UTF-8"
        all["TZ"] = "UTC"
        all["STORE"] = store
        all["MOUNT"] = mountPoint
        all["SCRATCH"] = scratch
        all["HYDRANT"] = Self.executable
        all["GIT_CONFIG_GLOBAL"] = path + "/home/.gitconfig"
        all["GIT_CONFIG_NOSYSTEM"] = "1"
        all["PYTHONDONTWRITEBYTECODE"] = "1"
        return all.merging(extra) { $1 }
    }

    /// The command under test, from the directory of the running tests.
    package static let executable: String = {
        if let named = ProcessInfo.processInfo.environment["HYDRANT_EXECUTABLE"] { return named }
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let own = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/hydrant"
    }()

    package func spawn(_ arguments: [String], environment extra: [String: String] = [:]) throws -> ChildProcess {
        let number = try record.withLock { record in
            if record.isOver { throw HarnessError("the time limit has passed") }
            record.count += 1
            return record.count
        }
        let child = try ChildProcess(
            arguments, environment: environment(extra), output: "\(path)/out/\(number)")
        record.withLock { $0.children.append(child) }
        return child
    }

    package func run(_ arguments: [String], environment extra: [String: String] = [:], limit: Double) throws
        -> ChildResult
    {
        try spawn(arguments, environment: extra).wait(limit: limit)
    }

    /// Starts a script in its own mount namespace (bash). The namespace has copies of other tests' mounts; while a copy
    /// exists, the kernel keeps the daemon's connection.
    package static let withoutOthersMounts = #"""
        mapfile -t mounts </proc/self/mounts
        for line in "${mounts[@]}"; do
            read -r _ place kind _ <<<"$line"
            [[ $kind != fuse* || $place != /tmp/hyt-* || $place == "${SCRATCH%/*}"/* ]] || umount -i -l "$place" 2>/dev/null || true
        done

        """#

    package func note(daemon pid: Int32) { record.withLock { _ = $0.daemons.insert(pid) } }

    // MARK: The end

    /// Kills all processes, and unmounts everything. Unblocks threads that hang in a mount.
    package func forceDown() {
        let (children, daemons) = record.withLock { record in
            record.isOver = true
            return (record.children, record.daemons)
        }
        for pid in daemons where isOurs(pid) { kill(pid, SIGKILL) }
        for child in children where child.isRunning { child.destroy() }
        // Processes that they started may go on.
        let groups = Set(children.map(\.pid))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let pid = Int32(name), groups.contains(getpgid(pid)), isOurs(pid) else { continue }
            kill(pid, SIGKILL)
        }
        KernelMount.forceDown(below: path)
        // Daemons that a scenario started without the harness.
        for pid in lockHolders() where isOurs(pid) { kill(pid, SIGKILL) }
    }

    /// The daemons named in the state directories here. Does not look into mounts.
    private func lockHolders() -> Set<pid_t> {
        let mounts = KernelMount.below(path).map(\.mountPoint)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let folders = names.map { "\(path)/\($0)" }.filter { folder in
            folder != mountPoint && !mounts.contains { $0 == folder }
        }
        return Set(
            folders.compactMap { folder in
                FileManager.default.contents(atPath: folder + "/lock").flatMap {
                    pid_t(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
                }
            })
    }

    /// Process ids are reused: only processes of this scenario are killed.
    private func isOurs(_ pid: pid_t) -> Bool {
        guard let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") else { return false }
        return environment.range(of: Data("XDG_RUNTIME_DIR=\(runtime)".utf8)) != nil
    }

    /// Removes all files and mounts.
    package func remove() throws {
        forceDown()
        let left = KernelMount.below(path)
        guard left.isEmpty else { throw HarnessError("still mounted: \(left.map(\.mountPoint))") }
        // Running work of this process (steps of a stopped engine) may create a file meanwhile.
        for _ in 0..<20 {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { return }
            usleep(50_000)
        }
        try FileManager.default.removeItem(atPath: path)
    }
}
