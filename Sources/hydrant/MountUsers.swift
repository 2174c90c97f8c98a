import ControlAPI
import Foundation
import Surroundings

/// The processes that use a mount, as fuser(1) lists them. Reads proc(5) only, not the mount, which may hang.
struct MountUsers: Encodable {
    struct Use: Encodable, Equatable {
        enum Kind: String, Encodable { case open, directory, root, program, mapped }
        var kind: Kind
        /// The path in proc(5).
        var path: String
    }
    struct Process: Encodable {
        var pid: Int32
        /// The process's name (`comm`).
        var command: String
        var user: String
        /// The process was killed or has ended, and the kernel is closing its files.
        var isEnding: Bool
        var uses: [Use]
    }
    var processes: [Process] = []
    /// The number of processes, mostly of other users, that we may not inspect.
    var unseen = 0

    static func find(at mountPoint: String) -> MountUsers {
        var found = MountUsers()
        guard let mount = MountTable.identity(of: mountPoint) else { return found }
        let inspection = Inspection(mountPoint: mountPoint, mount: mount)
        for name in SystemFile.names(in: "/proc") ?? [] {
            guard let pid = Int32(name), pid != getpid() else { continue }
            switch inspection.uses(of: pid) {
            case nil: found.unseen += 1
            case .some(let uses) where uses.isEmpty: break
            case .some(let uses):
                found.processes.append(
                    Process(
                        pid: pid, command: ProcessStatus.name(of: pid) ?? "", user: Inspection.user(of: pid),
                        isEnding: Inspection.isEnding(pid), uses: uses))
            }
        }
        found.processes.sort { $0.pid < $1.pid }
        return found
    }
}

extension MountUsers {
    /// For people: a line for each process.
    var lines: [String] {
        processes.map { process in
            let uses = process.uses.prefix(5).map { use in
                switch use.kind {
                case .open: use.path
                case .directory: "\(use.path) (working directory)"
                case .root: "\(use.path) (root directory)"
                case .program: "\(use.path) (running)"
                case .mapped: "\(use.path) (mapped)"
                }
            }
            let more = process.uses.count > 5 ? ", and \(process.uses.count - 5) more" : ""
            return "\(process.command) (pid \(process.pid), \(process.user)): \(uses.joined(separator: ", "))\(more)"
        }
    }
}

/// Inspects one process after the other.
private struct Inspection {
    let mountPoint: String
    let mount: MountTable.Identity

    /// Nil: we may not see everything that the process uses. A process that has ended uses nothing.
    func uses(of pid: Int32) -> [MountUsers.Use]? {
        if Self.isKernelThread(pid) { return [] }
        guard let descriptors = SystemFile.names(in: "/proc/\(pid)/fd") else {
            return errno == EACCES || errno == EPERM ? nil : []
        }
        var uses: [MountUsers.Use] = []
        func add(_ kind: MountUsers.Use.Kind, _ path: String) {
            let use = MountUsers.Use(kind: kind, path: path)
            if !uses.contains(use) { uses.append(use) }
        }
        for descriptor in descriptors {
            let text = SystemFile.text("/proc/\(pid)/fdinfo/\(descriptor)")
            if Self.mountID(in: text) == mount.id, let path = SystemFile.link("/proc/\(pid)/fd/\(descriptor)") {
                add(.open, path)
            }
        }
        for (name, kind) in [("cwd", MountUsers.Use.Kind.directory), ("root", .root), ("exe", .program)] {
            if let path = linkInMount("/proc/\(pid)/\(name)") { add(kind, path) }
        }
        for path in mapped(by: pid) where !uses.contains(where: { $0.path == path }) { add(.mapped, path) }
        return uses
    }

    /// With O_PATH, asks for the link's mount, not its file system. (The name alone would also match a directory that
    /// the mount hides.)
    private func linkInMount(_ path: String) -> String? {
        let descriptor = open(path, Inspection.pathOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard Self.mountID(in: SystemFile.text("/proc/self/fdinfo/\(descriptor)")) == mount.id else { return nil }
        return SystemFile.link(path)
    }

    /// O_PATH of open(2), which Glibc's module leaves out.
    private static let pathOnly: Int32 = 0o10000000

    /// Files that the process maps. A passthrough mapping is of a file on another device, so only its name shows the
    /// mount.
    private func mapped(by pid: Int32) -> Set<String> {
        var paths: Set<String> = []
        for line in SystemFile.text("/proc/\(pid)/maps").split(separator: "\n") {
            // address perms offset dev inode path
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6 else { continue }
            let path = fields[5].drop { $0 == " " }
            if fields[3] == mount.device || path.hasPrefix(mountPoint + "/") { paths.insert(String(path)) }
        }
        return paths
    }

    // MARK: proc(5)

    static func mountID(in information: String) -> String? {
        for line in information.split(separator: "\n") where line.hasPrefix("mnt_id:") {
            return line.dropFirst(7).trimmingCharacters(in: .whitespaces)
        }
        return nil
    }

    static func user(of pid: Int32) -> String {
        var status = stat()
        guard stat("/proc/\(pid)", &status) == 0 else { return "?" }
        return UserNames.name(of: status.st_uid) ?? "user \(status.st_uid)"
    }

    /// PF_KTHREAD: kernel threads have no files, and nobody may inspect them.
    private static func isKernelThread(_ pid: Int32) -> Bool { flags(of: pid) & 0x0020_0000 != 0 }

    /// PF_EXITING is set, or the process was killed during a system call that the kernel does not interrupt.
    static func isEnding(_ pid: Int32) -> Bool { flags(of: pid) & 0x0000_0004 != 0 || isKilled(pid) }

    /// SIGKILL is pending (proc(5)).
    private static func isKilled(_ pid: Int32) -> Bool {
        SystemFile.text("/proc/\(pid)/status").split(separator: "\n").contains { line in
            guard line.hasPrefix("SigPnd:") || line.hasPrefix("ShdPnd:") else { return false }
            let mask = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) ?? 0
            return mask & 1 << UInt64(SIGKILL - 1) != 0
        }
    }

    /// `flags` in /proc/PID/stat (the kernel's sched.h).
    private static func flags(of pid: Int32) -> UInt64 {
        guard let fields = ProcessStatus.fields(of: pid), fields.count > 6 else { return 0 }
        return UInt64(fields[6]) ?? 0
    }
}
