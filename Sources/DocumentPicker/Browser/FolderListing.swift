import ControlAPI
import Foundation

/// Lists a folder of a mounted domain, with what is here of each item.
struct FolderListing: Sendable {
    struct Item: Sendable {
        var name: String
        var isFolder: Bool
        var isDocument: Bool
        var size: Int64
        /// Seconds since 1970.
        var modified: Double
        var isHere: Bool?
    }

    /// The most items in one request for their status.
    private static let batch = 500

    /// - Parameter folder: relative to the mount point; empty: the mount point.
    /// - Throws: the daemon's reason why the folder cannot be listed.
    static func read(_ folder: [String], _ client: DomainClient) async throws -> [Item] {
        let path = ([client.mountPoint] + folder).joined(separator: "/")
        var items: [Item]
        do { items = try await onThread { try names(path) } } catch {
            // The daemon's error says more than errno.
            _ = try await client.locate(PathBytes((folder + ["."]).dropLast().joined(separator: "/")))
            throw error
        }
        items.sort { one, other in
            if one.isFolder != other.isFolder { return one.isFolder }
            let order = one.name.compare(other.name, options: [.caseInsensitive, .numeric])
            return order == .orderedSame ? one.name < other.name : order == .orderedAscending
        }
        let documents = items.indices.filter { items[$0].isDocument }
        var rest = documents[...]
        while !rest.isEmpty {
            let some = rest.prefix(batch)
            rest = rest.dropFirst(batch)
            let paths = some.map { PathBytes((folder + [items[$0].name]).joined(separator: "/")) }
            // If one of the items is gone, the request fails, and `isHere` stays unknown for all of them.
            guard let statuses = try? await client.status(paths) else { continue }
            for (index, status) in zip(some, statuses) { items[index].isHere = status.state == .downloaded }
        }
        return items
    }

    private static func names(_ path: String) throws -> [Item] {
        guard let folder = opendir(path) else { throw FileCopy.failure(path) }
        defer { closedir(folder) }
        var items: [Item] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else {
                // When the kernel opens folders without asking us, the listing and its errors come with readdir.
                if errno != 0 { throw FileCopy.failure(path) }
                break
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            // Leave out hidden items, items that are gone again, and items of this machine only.
            if name.hasPrefix(".") || lstat(path + "/" + name, &status) != 0 { continue }
            let kind = status.st_mode & S_IFMT
            guard kind == S_IFREG || kind == S_IFDIR else { continue }
            items.append(
                Item(
                    name: name, isFolder: kind == S_IFDIR, isDocument: kind == S_IFREG, size: Int64(status.st_size),
                    modified: Double(status.st_mtim.tv_sec)))
        }
        return items
    }
}
