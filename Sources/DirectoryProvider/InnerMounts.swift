import Glibc
import Surroundings

/// What is mounted below the root. The kernel tells whoever polls the table of mounts that it is another one, not what
/// changed, and inotify says nothing of a mount.
final class InnerMounts {
    /// To poll(2), for POLLPRI; nil where there is no /proc.
    let table: Descriptor?
    /// The kernel has told it of the table.
    var mayHaveChanged = true
    private let prefix: [UInt8]
    private var mounted: Set<[UInt8]> = []
    private static let path = "/proc/self/mountinfo"

    init(below rootPath: String) {
        prefix = Array(rootPath.utf8) + [UInt8(ascii: "/")]
        let number = open(Self.path, O_RDONLY | O_CLOEXEC)
        table = number >= 0 ? Descriptor(number) : nil
        _ = hasChanged()
    }

    /// Whether they are others than at the call before.
    func hasChanged() -> Bool {
        guard mayHaveChanged else { return false }
        mayHaveChanged = false
        let now = read()
        defer { mounted = now }
        return now != mounted
    }

    /// Of each its number and its place.
    private func read() -> Set<[UInt8]> {
        Set(
            MountInfo.all().filter { $0.mountPoint.starts(with: prefix) }.map {
                Array($0.id.utf8) + [0] + $0.mountPoint
            })
    }
}
