import Foundation

/// A mount in the kernel's table. Never accesses the mount point itself, which may hang.
struct KernelMount: Sendable, Equatable {
    var id: Int
    var mountPoint: String
    /// The minor device number: it names the FUSE connection.
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

    /// Aborts the FUSE connection: all requests fail from now on, also hanging ones.
    private func abort() {
        guard fileSystem.hasPrefix("fuse") else { return }
        let folder = "/sys/fs/fuse/connections"
        let file = "\(folder)/\(minor)/abort"
        if access(file, F_OK) != 0 { _ = mount("fusectl", folder, "fusectl", 0, nil) }
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // After an unmount the number may be given to the next mount, perhaps another test's. The open file keeps
        // referring to the old connection.
        if Self.all().contains(self) { _ = write(descriptor, "1", 1) }
    }

    /// Unmounts everything in a folder, in any state.
    static func forceDown(below folder: String) {
        for mount in below(folder).reversed() {
            mount.abort()
            umount2(mount.mountPoint, Int32(MNT_DETACH))
        }
    }
}
