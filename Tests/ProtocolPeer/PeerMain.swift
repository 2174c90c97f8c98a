import FileProvider
import FileProviderTesting
import Foundation
import ProcessProvider

/// `hydrant-protocol-peer`: a provider program for tests, in Swift.
///
/// - `memory [FILE=TEXT…]`: the store in memory, with everything that it can do.
/// - `plain`: the same, with none of the optional abilities.
/// - `broken RULE SOCKET`: the broken provider of this rule; its other client listens at this path.
/// - `join SOCKET`: that other client: passes all bytes on.
/// - `faulty FAULT`: a store that misbehaves as a process (``PeerFault``).
@main struct PeerMain {
    static func main() async throws {
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst()).filter { $0 != ProviderProtocol.argument }
        var status = stat()
        if fstat(0, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            // `hydrant mount` only asks which kind of program this is.
            let hello = Frame.json(Array(#"{"method":"hello","params":{"versions":[1]}}"#.utf8)).encoded
            return FileHandle.standardOutput.write(Data(hello))
        }
        switch words.first {
        case "memory":
            let store = InMemoryProvider(pageSize: 3, pieceSize: 10_000, signalsOwnChanges: true, features: .all)
            for word in words.dropFirst() {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                _ = try store.put(String(parts[0]), String(parts.last ?? ""))
            }
            try await PeerServer(store).serve(dup(0))
        case "plain": try await PeerServer(PlainStore(base: InMemoryProvider())).serve(dup(0))
        case "broken":
            guard let broken = BrokenProvider.all.first(where: { "\($0.rule)" == words[1] }) else { exit(64) }
            let (provider, other) = try broken.makeStore()
            try listen(at: words[2], for: other)
            try await PeerServer(provider).serve(dup(0))
        case "join": try relay(to: words[1])
        case "faulty":
            guard let fault = PeerFault(rawValue: words[1]) else { exit(64) }
            try await fault.serve(Array(words.dropFirst(2)))
        default: exit(64)
        }
    }

    private static func address(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return address
    }

    private static func with(
        _ address: sockaddr_un, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    private static func listen(at path: String, for other: any FileProviderExtension) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try with(address(path)) { bind(socket, $0, $1) }
        guard Glibc.listen(socket, 1) == 0 else { throw POSIXError(.EIO) }
        Thread {
            while true {
                let client = accept(socket, nil, nil)
                guard client >= 0 else { return }
                Task { try await PeerServer(other).serve(client) }
            }
        }.start()
    }

    /// Copies both ways, until either side hangs up.
    private static func relay(to path: String) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try with(address(path)) { connect(socket, $0, $1) }
        @Sendable func copy(_ from: Int32, _ to: Int32) {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(from, &buffer, buffer.count)
                if count <= 0 { exit(0) }
                var sent = 0
                while sent < count {
                    let more = buffer.withUnsafeBytes { write(to, $0.baseAddress! + sent, count - sent) }
                    if more <= 0 { exit(0) }
                    sent += more
                }
            }
        }
        Thread { copy(socket, 1) }.start()
        copy(0, socket)
    }
}
