import Glibc
import Surroundings

/// The mounts below the root. Polling the mount table tells that it changed, but not how, and inotify does not report
/// mounts.
final class InnerMounts {
    /// For poll(2) with POLLPRI; nil where there is no /proc.
    let table: Descriptor?
    /// Whether the kernel has reported a change of the table.
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

    /// Whether the mounts differ from those of the last call.
    func hasChanged() -> Bool {
        guard mayHaveChanged else { return false }
        mayHaveChanged = false
        let now = read()
        defer { mounted = now }
        return now != mounted
    }

    /// The number and the place of each mount.
    private func read() -> Set<[UInt8]> {
        Set(
            MountInfo.all().filter { $0.mountPoint.starts(with: prefix) }.map {
                Array($0.id.utf8) + [0] + $0.mountPoint
            })
    }
}
