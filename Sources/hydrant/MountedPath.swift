import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

/// A user's path, split at the mount point above it.
struct MountedPath {
    let mountPoint: String
    /// Relative to the mount point, no leading slash; empty: the mount point itself.
    let relative: PathBytes

    /// - Parameter mounts: as the kernel lists them now.
    init(_ path: String, in mounts: [MountTable.Entry] = MountTable.hydrantMounts()) throws(ExitCode) {
        let absolute = Self.absolute(path, mounts)
        guard let mount = MountTable.hydrantMount(containing: absolute, in: mounts) else {
            throw fail("\(path): not in a mount of Hydrant; mount a store first (hydrant help mount)")
        }
        try Self.requireOwn(mount, path)
        mountPoint = mount.mountPoint
        relative = PathBytes(
            bytes: ByteText.bytes(absolute).dropFirst(mount.mountPoint.utf8.count).drop { $0 == UInt8(ascii: "/") })
    }

    /// Whether the path names a mount point, or an item in a mount.
    static func isMounted(_ path: String) -> Bool {
        let mounts = MountTable.hydrantMounts()
        return MountTable.hydrantMount(containing: absolute(path, mounts), in: mounts) != nil
    }

    /// The absolute path without `.` and `..`. Follows links in the folders above; follows a last component only if
    /// that leads into a mount from outside; follows none below a mount point (a link in a mount is an item of its
    /// own).
    private static func absolute(_ path: String, _ mounts: [MountTable.Entry]) -> String {
        let full = path.hasPrefix("/") ? path : ByteText.currentDirectory + "/" + path
        var parts: [Substring] = []
        for part in full.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        let plain = "/" + parts.joined(separator: "/")
        func isMounted(_ path: String) -> Bool { MountTable.hydrantMount(containing: path, in: mounts) != nil }
        if isMounted(plain) { return plain }
        guard let last = parts.last, let above = ByteText.resolved("/" + parts.dropLast().joined(separator: "/")) else {
            return plain
        }
        let unfollowed = (above == "/" ? "" : above) + "/" + last
        if isMounted(unfollowed) { return unfollowed }
        guard let followed = ByteText.resolved(full), isMounted(followed) else { return unfollowed }
        return followed
    }

    /// Paths grouped by their mount, in the order given.
    static func grouped(_ paths: [String]) throws(ExitCode) -> [(mountPoint: String, paths: [PathBytes])] {
        var groups: [(mountPoint: String, paths: [PathBytes])] = []
        let mounts = MountTable.hydrantMounts()
        for path in paths {
            let mounted = try MountedPath(path, in: mounts)
            if let index = groups.firstIndex(where: { $0.mountPoint == mounted.mountPoint }) {
                groups[index].paths.append(mounted.relative)
            } else {
                groups.append((mounted.mountPoint, [mounted.relative]))
            }
        }
        return groups
    }

    /// Another user's daemon takes no requests from us.
    private static func requireOwn(_ mount: MountTable.Entry, _ path: String) throws(ExitCode) {
        guard let owner = mount.owner, owner != geteuid() else { return }
        let name = UserNames.name(of: owner) ?? "user \(owner)"
        throw fail(
            "\(path): in a mount of \(name)'s (\(mount.mountPoint)), whose daemon answers only \(name); run this as \(name)",
            CommandExit.unavailable)
    }

    /// The mount that the user names, or his only one.
    ///
    /// - Parameter anybodys: accept another user's mount too, for a command that needs no answer of the daemon.
    static func mountPoint(_ named: String?, anybodys: Bool = false) throws(ExitCode) -> String {
        if let named {
            let mounts = MountTable.hydrantMounts()
            let absolute = Self.absolute(named, mounts)
            guard let mount = MountTable.hydrantMount(containing: absolute, in: mounts) else {
                throw fail("\(named): nothing is mounted there", CommandExit.unavailable)
            }
            if !anybodys { try requireOwn(mount, named) }
            return mount.mountPoint
        }
        let mounts = MountTable.ownDomains()
        guard let only = mounts.first else { throw fail("nothing is mounted", CommandExit.unavailable) }
        guard mounts.count == 1 else {
            throw fail("there are several mounts, name one: " + mounts.map(\.mountPoint).joined(separator: ", "))
        }
        return only.mountPoint
    }
}
