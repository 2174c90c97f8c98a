import ControlAPI
import Foundation
import Glibc
import NIOPosix

/// Where an item is: in which mounted domain, and where in that.
struct ItemPlace: Sendable {
    var mountPoint: String
    /// Relative to the mount point.
    var path: PathBytes

    /// On a thread that may block: the paths are looked at.
    static func find(_ intents: [FileAccessIntent]) async throws -> [ItemPlace] {
        try await NIOThreadPool.singleton.runIfActive {
            try intents.map { try ItemPlace($0.url, follows: $0.readingOptions.contains(.resolvesSymbolicLink)) }
        }
    }

    static func find(_ url: URL) async throws -> ItemPlace {
        try await NIOThreadPool.singleton.runIfActive { try ItemPlace(url, follows: false) }
    }

    /// - Parameter follows: of a symbolic link, where it points.
    private init(_ url: URL, follows: Bool) throws {
        guard url.isFileURL else { throw CoordinationError(.notInADomain, "\(url): is no file") }
        let path = url.path(percentEncoded: false)
        let full = try follows ? Self.resolved(path) : Self.resolvedFolder(path)
        guard let mount = MountTable.hydrantMount(containing: full) else {
            throw CoordinationError(.notInADomain, "\(path): lies in no mounted domain")
        }
        mountPoint = mount.mountPoint
        self.path = PathBytes(bytes: full.utf8.dropFirst(mount.mountPoint.utf8.count).drop { $0 == UInt8(ascii: "/") })
    }

    private static func resolvedFolder(_ path: String) throws -> String {
        let name = (path as NSString).lastPathComponent
        // The mount point itself.
        if MountTable.mount(at: path) != nil || name == "/" || name == ".." || name == "." { return try resolved(path) }
        let folder = try resolved((path as NSString).deletingLastPathComponent)
        return (folder == "/" ? "" : folder) + "/" + name
    }

    private static func resolved(_ path: String) throws -> String {
        guard let resolved = realpath(path, nil) else {
            throw CoordinationError(.noSuchItem, "\(path): \(String(cString: strerror(errno)))")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func url(_ place: CoordinationGrant.Place, in mountPoint: String) -> URL {
        let path = place.snapshot ?? mountPoint + (place.path.bytes.isEmpty ? "" : "/" + place.path.string)
        return URL(filePath: path, directoryHint: .notDirectory)
    }
}
