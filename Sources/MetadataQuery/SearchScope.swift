import ControlAPI
import DocumentContainers
import FileCoordination
public import Foundation

/// Where a query looks.
///
/// Source: Apple, `NSMetadataQuery.searchScopes`.
public enum SearchScope: Sendable, Hashable {
    /// All domains that this user has mounted; those that are mounted later as well, while the query is live.
    case allDomains
    /// A mount point, a folder in a mounted domain with all that is in it, or one document.
    case items(at: URL)
    /// The documents in a program's container (`DocumentContainer`); nil: in that of this program. The container's folder is made
    /// if it is not there.
    case container(identifier: String?)
    /// The documents that reference documents in this folder stand for (`FileCoordination.ReferenceDocument`): those that this
    /// program was granted. They have ``MetadataItem/external``. References that nobody can resolve are left out.
    case externalDocuments(referencedIn: URL)
}

/// What scopes mean for one domain.
struct DomainScope: Sendable, Equatable {
    /// Relative to the mount point; empty: all of it.
    var paths: [PathBytes] = []
    /// Of documents by path, which reference stands for them.
    var external: [PathBytes: MetadataItem.External] = [:]

    /// By mount point.
    ///
    /// - Throws: ``MetadataQueryError`` when something lies in no mounted domain.
    static func all(of scopes: [SearchScope]) async throws -> [String: DomainScope] {
        var all: [String: DomainScope] = [:]
        /// Those of which everything is wanted.
        var whole: Set<String> = []
        func add(_ url: URL) throws {
            let place = try place(of: url)
            var domain = all[place.mountPoint] ?? DomainScope()
            if place.path.bytes.isEmpty {
                whole.insert(place.mountPoint)
                domain.paths = []
            } else if !whole.contains(place.mountPoint) {
                domain.paths.append(place.path)
            }
            all[place.mountPoint] = domain
        }
        for scope in scopes {
            switch scope {
            case .allDomains:
                for domain in MountTable.ownDomains() {
                    all[domain.mountPoint, default: DomainScope()].paths = []
                    whole.insert(domain.mountPoint)
                }
            case .items(let url):
                try add(url)
            case .container(let identifier):
                do { try add(try await DocumentContainer.url(forIdentifier: identifier)) } catch {
                    throw MetadataQueryError("\(error)")
                }
            case .externalDocuments(let folder):
                for (reference, resolved) in await references(in: folder) {
                    guard let place = try? place(of: resolved.url) else { continue }
                    var domain = all[place.mountPoint] ?? DomainScope()
                    domain.external[place.path] = MetadataItem.External(
                        referenceURL: reference, containerDisplayName: await title(of: place.mountPoint))
                    if !whole.contains(place.mountPoint) { domain.paths.append(place.path) }
                    all[place.mountPoint] = domain
                }
            }
        }
        return all
    }

    /// Links are followed on the way to it, not the last part.
    static func place(of url: URL) throws -> (mountPoint: String, path: PathBytes) {
        guard url.isFileURL else { throw MetadataQueryError("\(url.absoluteString): is no file") }
        let path = ByteText.text(of: url)
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        var full = trimmed
        if MountTable.hydrantMount(containing: trimmed) == nil {
            let folder = (trimmed as NSString).deletingLastPathComponent
            let above = ByteText.resolved(folder.isEmpty ? "." : folder).map { $0 == "/" ? "" : $0 }
            full = (above ?? folder) + "/" + (trimmed as NSString).lastPathComponent
        }
        if MountTable.hydrantMount(containing: full) == nil, let resolved = ByteText.resolved(trimmed) {
            full = resolved
        }
        guard let mount = MountTable.hydrantMount(containing: full) else {
            throw MetadataQueryError("\(ByteText.shown(path)): lies in no mounted domain")
        }
        let rest = ByteText.bytes(full).dropFirst(mount.mountPoint.utf8.count).drop { $0 == UInt8(ascii: "/") }
        return (mount.mountPoint, PathBytes(bytes: rest))
    }

    private static let mostReferences = 1_000

    private static func references(in folder: URL) async -> [(URL, Bookmark.Resolved)] {
        let suffix = "." + ReferenceDocument.filenameExtension
        let path = folder.path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path))?.filter { $0.hasSuffix(suffix) } ?? []
        var found: [(URL, Bookmark.Resolved)] = []
        for name in names.sorted().prefix(mostReferences) {
            let url = folder.appending(path: name, directoryHint: .notDirectory)
            guard let document = try? ReferenceDocument(contentsOf: url),
                let resolved = try? await document.bookmark.resolve()
            else { continue }
            found.append((url, resolved))
        }
        return found
    }

    /// As people know the domain.
    private static func title(of mountPoint: String) async -> String {
        let fallback = (mountPoint as NSString).lastPathComponent
        guard let path = try? SocketDirectory.socketPath(mountPoint: mountPoint) else { return fallback }
        let answer = try? await ControlClient(socketPath: path).send(.domain, timeout: 10)
        guard case .domain(let status, items: _) = answer else { return fallback }
        return status.title ?? fallback
    }
}

/// Why a query cannot be run.
public struct MetadataQueryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For people: what happened, to which file, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ message: String) { self.message = message }
}
