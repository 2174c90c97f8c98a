import DirectoryProvider
import FileProvider
import Foundation
import Logging

/// What `SCHEME:REST` names, and the provider for it.
struct StoreURL {
    /// Canonical: one store has one, so that its catalog is known again.
    let canonical: String
    /// For the domain's folder: readable, and different for different stores.
    let domainName: String
    private let root: String

    init(_ text: String) throws(DaemonError) {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
            throw DaemonError("\(text): not a store; write dir:/PATH")
        }
        let scheme = text[..<colon]
        guard scheme == "dir" else {
            throw DaemonError("\(text): the scheme \(scheme) is not known; known is dir, as in dir:/PATH")
        }
        let path = String(text[text.index(after: colon)...])
        guard !path.isEmpty else { throw DaemonError("\(text): no directory is named; write dir:/PATH") }
        guard let resolved = realpath(path, nil) else {
            throw DaemonError(
                "\(path): \(String(cString: strerror(errno))); the store must be there before it is mounted")
        }
        defer { free(resolved) }
        root = String(cString: resolved)
        var status = stat()
        guard stat(root, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw DaemonError("\(path): is not a directory")
        }
        canonical = "dir:\(root)"
        let last = root.split(separator: "/").last.map(String.init) ?? "root"
        let readable = String(last.map { $0.isLetter || $0.isNumber || "-_.".contains($0) ? $0 : "_" }.prefix(40))
        domainName = "dir-\(readable)-\(Self.digest(root))"
    }

    /// FNV-1a, 64 bits: the same text has the same one in every version.
    private static func digest(_ text: String) -> String {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    func makeProvider(logger: Logger) throws(DaemonError) -> any FileProviderExtension {
        do { return try DirectoryProvider(root: root, logger: logger) } catch {
            throw DaemonError(error.message)
        }
    }

    /// A mount that contains its own store, or lies in it, would wait for itself.
    func checkApart(from mountPoint: String) throws(DaemonError) {
        if Self.contains(root, mountPoint) {
            throw DaemonError("\(mountPoint): lies inside the store \(root); choose a mount point outside it")
        }
        if Self.contains(mountPoint, root) {
            throw DaemonError(
                "\(mountPoint): contains the store \(root), which would be hidden; choose another mount point")
        }
    }

    private static func contains(_ outer: String, _ inner: String) -> Bool {
        inner == outer || inner.hasPrefix(outer == "/" ? "/" : outer + "/")
    }
}
