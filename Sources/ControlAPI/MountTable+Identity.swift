import Glibc

extension MountTable {
    /// What tells a mount from all others, without looking into it.
    public struct Identity: Sendable, Equatable {
        /// As in `fdinfo` of an open file (proc(5), `mnt_id`).
        public var id: String
        /// As in `maps` of a process (proc(5)): hexadecimal, `00:2f`.
        public var device: String
    }

    /// Of what is on top at this path.
    public static func identity(of mountPoint: String) -> Identity? {
        guard let file = fopen("/proc/self/mountinfo", "re") else { return nil }
        defer { fclose(file) }
        var found: Identity?
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            let text = String(cString: line)
            guard parse(text)?.mountPoint == mountPoint else { continue }
            let fields = text.split(separator: " ", maxSplits: 3)
            let numbers = fields[2].split(separator: ":").compactMap { UInt32($0) }
            guard numbers.count == 2 else { continue }
            let device = numbers.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
            found = Identity(id: String(fields[0]), device: device)
        }
        return found
    }
}
