import ControlAPI
import DocumentContainers
import FileCoordination
public import Foundation

/// The place that a query searches.
///
/// Source: Apple, `NSMetadataQuery.searchScopes`.
public enum SearchScope: Sendable, Hashable {
    /// All domains that this user has mounted, and, for a live query, those mounted later.
    case allDomains
    /// A mount point, a folder in a mounted domain with everything in it, or one document.
    case items(at: URL)
    /// The documents in a program's container (`DocumentContainer`); nil: this program's. The container's folder is
    /// made if it does not exist.
    case container(identifier: String?)
    /// The documents of the reference documents in this folder (`FileCoordination.ReferenceDocument`), to which this
    /// program has a right. They have ``MetadataItem/external``. References that cannot be resolved are left out.
    case externalDocuments(referencedIn: URL)
}

/// The part of a query's scopes in one domain.
struct DomainScope: Sendable, Equatable {
    /// Relative to the mount point; empty: the whole domain.
    var paths: [PathBytes] = []
    /// The references to documents, by the documents' paths.
    var external: [PathBytes: MetadataItem.External] = [:]

    /// The scopes by mount point.
    ///
    /// - Parameter keepsInner: whether folders within the domain count beside its root.
    /// - Throws: ``MetadataQueryError`` when a scope is in no mounted domain.
    static func all(of scopes: [SearchScope], keepsInner: Bool = false) async throws -> [String: DomainScope] {
        var all: [String: DomainScope] = [:]
        /// Domains to search as a whole.
        var whole: Set<String> = []
        func add(_ url: URL) throws {
            let place = try place(of: url)
            var domain = all[place.mountPoint] ?? DomainScope()
            if place.path.bytes.isEmpty, !keepsInner {
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
                    if keepsInner {
                        all[domain.mountPoint, default: DomainScope()].paths.append(PathBytes(bytes: []))
                        continue
                    }
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

    /// The mount and path of a URL. Follows links, except in the last component.
    static func place(of url: URL) throws -> (mountPoint: String, path: PathBytes) {
        guard url.isFileURL else { throw MetadataQueryError("\(url.absoluteString): not a file URL") }
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
            throw MetadataQueryError("\(ByteText.shown(path)): in no mounted domain")
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

    /// The domain's name for people.
    private static func title(of mountPoint: String) async -> String {
        let fallback = (mountPoint as NSString).lastPathComponent
        guard let path = try? SocketDirectory.socketPath(mountPoint: mountPoint) else { return fallback }
        let answer = try? await ControlClient(socketPath: path).send(.domain, timeout: 10)
        guard case .domain(let status, items: _) = answer else { return fallback }
        return status.title ?? fallback
    }
}

/// An error of a query.
public struct MetadataQueryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For people: the file, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ message: String) { self.message = message }
}
