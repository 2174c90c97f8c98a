import FileProvider
import HTTPTransport
import Logging

/// The entries of a folder, or a part of them.
struct Listing: Sendable {
    struct Entry: Sendable {
        var name: Filename
        var resource: DAVResource
    }
    var entries: [Entry] = []
    var leftovers: [Entry] = []
    /// Entries that cannot be shown, and why.
    var leftOut: [(name: Filename, reason: String)] = []

    /// Whether a deletion of the folder would lose nothing.
    var isEmpty: Bool { entries.isEmpty && leftOut.isEmpty }

    mutating func add(_ other: Listing) {
        entries += other.entries
        leftovers += other.leftovers
        leftOut += other.leftOut
    }

    mutating func add(_ entry: Entry) {
        // A file that Apache is receiving, or was receiving when it died.
        if entry.name.bytes.starts(with: ".davfs.tmp".utf8), entry.name.bytes.count == 16 { return }
        if Leftover(entry.name) != nil {
            leftovers.append(entry)
        } else {
            entries.append(entry)
        }
    }
}

extension WebDAVProvider {
    /// The whole listing of a folder; nil: there is no folder at this place.
    func read(_ folder: HTTPLocation) async throws(FileProviderError) -> Listing? {
        var whole = Listing()
        let isThere = try await read(folder) { piece throws(FileProviderError) in whole.add(piece) }
        return isThere ? whole : nil
    }

    /// Passes on a listing in pieces, as they arrive. The listing is complete only when this returns.
    ///
    /// It buffers the entries before the folder's own entry, since only that entry tells that the place is a folder
    /// (every server that was seen begins with it), and, where the server can report changes later, as many entries as
    /// ``SyncCollections`` keeps.
    ///
    /// - Returns: false: there is no folder at this place, and nothing was passed on.
    func read(
        _ folder: HTTPLocation, _ each: (Listing) async throws(FileProviderError) -> Void
    ) async throws(FileProviderError) -> Bool {
        if let listing = try await readChanges(in: folder) {
            try await each(listing)
            return true
        }
        var coming = Listing()
        var kept: Listing? = Listing()
        var isFolder: Bool?
        var token: String?
        var host = folder.origin.host
        var first: String?
        let isThere = try await client.list(folder, .children, DAVProperty.ofFolders) { responses in
            for response in responses where !response.isNothing {
                first = first ?? response.href
                // Behind a proxy the server may use another host name.
                if isFolder == nil, let own = folder.resolve(response.href), own.components == folder.components {
                    host = own.origin.host
                }
                let resource: DAVResource
                do throws(BadEntry) { resource = try DAVResource(response, on: folder, named: host) } catch {
                    // (A known one is asked for by itself, and so does not count as deleted.)
                    coming.leftOut.append((error.name, error.reason))
                    continue
                }
                switch place(resource, in: folder) {
                case .itself:
                    isFolder = resource.isFolder
                    token = response.properties[.syncToken]
                case .child(let name): coming.add(Listing.Entry(name: name, resource: resource))
                case .elsewhere:
                    let name = Filename(bytes: resource.location.components.last ?? [])
                    let path = resource.location.path.prefix(200)
                    coming.leftOut.append((name, "its address, \(path), is not in this folder"))
                }
            }
            guard isFolder == true else { return }
            let piece = coming
            coming = Listing()
            if token?.isEmpty != false || !piece.leftOut.isEmpty { kept = nil }
            kept?.add(piece)
            if let count = kept?.count, count > SyncCollections.mostEntries { kept = nil }
            try await each(piece)
        }
        guard isThere else { return false }
        guard let isFolder else {
            let why =
                first.map {
                    "lists it under another address (“\($0.prefix(200))”): does a proxy on the way change paths?"
                }
                ?? "lists nothing, not even the folder itself"
            throw FileProviderError(.cannotSynchronize, "\(folder): the server \(why)")
        }
        guard isFolder else { return false }
        if let token, let kept { collections.keep(kept, at: folder, token: token, isWhole: true) }
        return true
    }

    enum ListedPlace { case itself, child(Filename), elsewhere }

    func place(_ resource: DAVResource, in folder: HTTPLocation) -> ListedPlace {
        guard let below = resource.location.components(below: folder), below.count <= 1 else {
            // The resource is not in this folder, whatever it is.
            logger.warning(
                "the server lists a resource that is not in the folder",
                metadata: ["folder": "\(folder)", "href": "\(resource.location)"])
            return .elsewhere
        }
        return below.first.map { .child(Filename(bytes: $0)) } ?? .itself
    }
}
