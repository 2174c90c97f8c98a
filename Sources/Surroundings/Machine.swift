import Glibc

/// This machine, for names that other clients of the same store must not use as well.
package enum Machine {
    /// gethostname(2), at most 64 bytes, without slashes.
    package static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, 255)
        let bytes = name.prefix { $0 != 0 && $0 != CChar(bitPattern: UInt8(ascii: "/")) }
        return String(decoding: bytes.prefix(64).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// Machine and user, the same after a restart: machine-id(5), where there is one, the host's name, and the user's
    /// number.
    package static let identity: String = {
        let machine = SystemFile.read("/etc/machine-id", most: 64) ?? []
        return "\(machine.hexadecimal) \(host) \(geteuid())"
    }()
}
