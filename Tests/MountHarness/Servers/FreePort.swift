package import Foundation
import Synchronization

/// Finds TCP ports of this machine.
package enum FreePort {
    private static let given = Mutex<Set<UInt16>>([])

    /// A port without a listener, returned only once. Below the kernel's range for outgoing connections
    /// (ip_local_port_range): a port in that range may become a client's before the server listens.
    package static func find() throws -> UInt16 {
        let port = given.withLock { given in
            for _ in 0..<1_000 {
                let port = UInt16.random(in: 10_000..<lowestOfClients)
                // (Ports returned before are not probed: their users would see the probe as another server.)
                if !given.contains(port), isFree(port), given.insert(port).inserted { return UInt16?.some(port) }
            }
            return nil
        }
        if let port { return port }
        throw HarnessError("no free port")
    }

    private static let lowestOfClients: UInt16 = {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let lowest = text?.split(whereSeparator: \.isWhitespace).first.flatMap { UInt16($0) } ?? 32_768
        return max(lowest, 20_000)
    }()

    private static func isFree(_ port: UInt16) -> Bool {
        // (A program started by another test must not inherit the socket.)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    package static func isOpen(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    package static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
