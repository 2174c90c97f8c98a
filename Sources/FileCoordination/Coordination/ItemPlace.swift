package import ControlAPI
package import Foundation
import Glibc
import NIOPosix

/// An item's mounted domain, and its path there.
package struct ItemPlace: Sendable {
    package private(set) var mountPoint: String
    /// Relative to the mount point.
    package private(set) var path: PathBytes
    private let asked: URL

    /// Set for a path in a scoped folder.
    private var scope: Scope?

    private struct Scope {
        var folder: String
        var token: String
        /// The number of folders above the item in its domain.
        var depth = 0
    }

    static func find(_ intents: [FileAccessIntent]) async throws -> [ItemPlace] {
        var places: [ItemPlace] = []
        for intent in intents {
            places.append(try await find(intent.url, follows: intent.readingOptions.contains(.resolvesSymbolicLink)))
        }
        return places
    }

    package static func find(_ url: URL, follows: Bool = false) async throws -> ItemPlace {
        // On a thread that may block, because this resolves the path.
        var place = try await NIOThreadPool.singleton.runIfActive { try ItemPlace(url, follows: follows) }
        if place.scope != nil { try await place.leaveScope() }
        return place
    }

    /// Changes a place in a scoped folder to the place in the domain, where claims are made.
    private mutating func leaveScope() async throws {
        guard let scope else { return }
        let slash = UInt8(ascii: "/")
        let name = PathBytes(bytes: path.bytes.prefix { $0 != slash })
        let request = ControlRequest.scopedPlace(token: scope.token, name: name)
        guard case .place(let place) = try await DomainConnection.ask(mountPoint, request) else {
            throw CoordinationError(
                .refused, "\(scope.folder): unexpected answer from the daemon; unmount and mount again")
        }
        self.scope?.depth = max(0, place.bytes.split(separator: slash).count - 1)
        path = PathBytes(bytes: place.bytes + path.bytes.drop { $0 != slash })
    }

    /// - Parameter follows: follow a symbolic link.
    private init(_ url: URL, follows: Bool) throws {
        guard url.isFileURL else { throw CoordinationError(.notInADomain, "\(url): not a file URL") }
        asked = url
        let path = ByteText.text(of: url)
        let full = try follows ? Self.resolved(path) : Self.resolvedFolder(path)
        let scoped = MountTable.entries().last { entry in
            entry.fileSystem == MountTable.scopedType && full.hasPrefix(entry.mountPoint + "/")
        }
        if let scoped {
            mountPoint = scoped.source
            self.path = PathBytes(bytes: ByteText.bytes(full).dropFirst(scoped.mountPoint.utf8.count + 1))
            scope = Scope(folder: scoped.mountPoint, token: (scoped.mountPoint as NSString).lastPathComponent)
            return
        }
        guard let mount = MountTable.hydrantMount(containing: full) else {
            throw CoordinationError(.notInADomain, "\(ByteText.shown(path)): in no mounted domain")
        }
        mountPoint = mount.mountPoint
        self.path = PathBytes(
            bytes: ByteText.bytes(full).dropFirst(mount.mountPoint.utf8.count).drop { $0 == UInt8(ascii: "/") })
    }

    private static func resolvedFolder(_ path: String) throws -> String {
        let name = (path as NSString).lastPathComponent
        // The mount point itself.
        if MountTable.mount(at: path) != nil || name == "/" || name == ".." || name == "." { return try resolved(path) }
        let folder = try resolved((path as NSString).deletingLastPathComponent)
        return (folder == "/" ? "" : folder) + "/" + name
    }

    private static func resolved(_ path: String) throws -> String {
        guard let resolved = ByteText.resolved(path) else {
            throw CoordinationError(.noSuchItem, "\(ByteText.shown(path)): \(String(cString: strerror(errno)))")
        }
        return resolved
    }

    /// The URL of a granted item for the program that asked for this place.
    func url(_ granted: CoordinationGrant.Place) -> URL {
        if let snapshot = granted.snapshot { return URL(filePath: snapshot, directoryHint: .notDirectory) }
        // In a scoped folder the item may have another name than in the domain.
        if scope != nil && granted.path == path { return asked }
        var path = ByteText.text(granted.path.bytes)
        if let scope { path = path.split(separator: "/").dropFirst(scope.depth).joined(separator: "/") }
        let folder = scope?.folder ?? mountPoint
        return ByteText.url(folder + (path.isEmpty ? "" : "/" + path))
    }

    /// The URL of a path from the daemon.
    package static func url(_ path: PathBytes, in mountPoint: String) -> URL {
        ByteText.url(path.bytes.isEmpty ? mountPoint : mountPoint + "/" + ByteText.text(path.bytes))
    }
}
