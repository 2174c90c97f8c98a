import Surroundings

extension MountTable {
    /// Tells a mount from all others, without looking into it.
    public struct Identity: Sendable, Equatable {
        /// `mnt_id` in `fdinfo` of an open file (proc(5)).
        public var id: String
        /// The device in `maps` of a process (proc(5)): hexadecimal, `00:2f`.
        public var device: String
    }

    /// The identity of the topmost mount at this path.
    public static func identity(of mountPoint: String) -> Identity? {
        let found = MountInfo.all().last { String(decoding: $0.mountPoint, as: UTF8.self) == mountPoint }
        return found.map { info in
            let device = [info.major, info.minor].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            return Identity(id: info.id, device: device.joined(separator: ":"))
        }
    }
}
