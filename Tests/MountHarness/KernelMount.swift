import Foundation

/// A mount as the kernel's table has it. Never looks at the mount point itself, which may hang.
struct KernelMount: Sendable, Equatable {
    var id: Int
    var mountPoint: String
    /// Of the file system's device number: names its FUSE connection.
    var minor: Int
    var fileSystem: String

    static func all() -> [KernelMount] {
        guard let data = FileManager.default.contents(atPath: "/proc/self/mountinfo") else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), fields.count > dash + 1,
                let id = Int(fields[0]), let minor = fields[2].split(separator: ":").last.flatMap({ Int($0) })
            else { return nil }
            return KernelMount(
                id: id, mountPoint: String(fields[4]), minor: minor, fileSystem: String(fields[dash + 1]))
        }
    }

    static func below(_ folder: String) -> [KernelMount] {
        all().filter { $0.mountPoint == folder || $0.mountPoint.hasPrefix(folder + "/") }
    }

    /// Every request of the file system fails from now on, those that hang too.
    private func abort() {
        guard fileSystem.hasPrefix("fuse") else { return }
        let folder = "/sys/fs/fuse/connections"
        let file = "\(folder)/\(minor)/abort"
        if access(file, F_OK) != 0 { _ = mount("fusectl", folder, "fusectl", 0, nil) }
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // The number of what was unmounted meanwhile is given to the next mount, which may be another test's. The open
        // file goes on meaning what it was opened for.
        if Self.all().contains(self) { _ = write(descriptor, "1", 1) }
    }

    /// Takes down everything that is mounted in a folder, whatever state it is in.
    static func forceDown(below folder: String) {
        for mount in below(folder).reversed() {
            mount.abort()
            umount2(mount.mountPoint, Int32(MNT_DETACH))
        }
    }
}
