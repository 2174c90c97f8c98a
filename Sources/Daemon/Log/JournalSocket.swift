import Foundation

/// The socket of systemd's journal for structured messages (systemd.io: Native Journal Protocol): one datagram for each
/// message, with lines `FIELD=value`.
final class JournalSocket: Sendable {
    private static let usualPath = "/run/systemd/journal/socket"
    private let descriptor: Int32

    /// Whether standard error is connected to the journal, as in a systemd unit.
    ///
    /// - Parameter stream: `JOURNAL_STREAM`, the journal's device and inode (sd-daemon(3)).
    static func isStandardError(named stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(2, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Nil: nothing listens on the socket.
    init?(path: String = JournalSocket.usualPath) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// - Returns: whether the journal received the message. Sending fails while the journal restarts or if the message
    ///   is too large.
    func send(_ fields: [(name: String, value: String)]) -> Bool {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            bytes += name.utf8
            if value.utf8.contains(UInt8(ascii: "\n")) {
                // A value with newlines has its length before it: 8 bytes, little endian.
                bytes.append(UInt8(ascii: "\n"))
                withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += $0 }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        let noSignal = Int32(MSG_NOSIGNAL)
        while true {
            let count = bytes.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, noSignal) }
            if count < 0 && errno == EINTR { continue }
            return count == bytes.count
        }
    }
}
