import FileProvider
import HTTPTransport
import Logging

/// One look into a folder, or a piece of one.
struct Listing: Sendable {
    struct Entry: Sendable {
        var name: Filename
        var resource: DAVResource
    }
    var entries: [Entry] = []
    var leftovers: [Entry] = []
    /// What cannot be shown, and why.
    var leftOut: [(name: Filename, reason: String)] = []

    /// Nothing is there that somebody could miss.
    var isEmpty: Bool { entries.isEmpty && leftOut.isEmpty }

    mutating func add(_ other: Listing) {
        entries += other.entries
        leftovers += other.leftovers
        leftOut += other.leftOut
    }

    mutating func add(_ entry: Entry) {
        // What Apache itself is just receiving, or was when it died.
        if entry.name.bytes.starts(with: ".davfs.tmp".utf8), entry.name.bytes.count == 16 { return }
        if Leftover(entry.name) != nil {
            leftovers.append(entry)
        } else {
            entries.append(entry)
        }
    }
}

extension WebDAVProvider {
    /// All that is in a folder; nil: there is no folder at this place.
    func read(_ folder: HTTPLocation) async throws(FileProviderError) -> Listing? {
        var whole = Listing()
        let isThere = try await read(folder) { piece throws(FileProviderError) in whole.add(piece) }
        return isThere ? whole : nil
    }

    /// Hands over what is in a folder in pieces, as it comes. Only when this returns, was that all.
    ///
    /// Kept are: what comes before the folder's own entry, since nobody knows until then that it is one (every server that
    /// was seen begins with it); and, where changes can be asked for later, as much as is kept for that.
    ///
    /// - Returns: false: there is no folder at this place, and nothing was handed over.
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
                // Behind a proxy it may call itself otherwise.
                if isFolder == nil, let own = folder.resolve(response.href), own.components == folder.components {
                    host = own.origin.host
                }
                let resource: DAVResource
                do throws(BadEntry) { resource = try DAVResource(response, on: folder, named: host) } catch {
                    // (One that was known is asked for by itself, and so not taken for deleted.)
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
            // Whatever this is, it is not in this folder.
            logger.warning(
                "the server lists what is not in the folder",
                metadata: ["folder": "\(folder)", "href": "\(resource.location)"])
            return .elsewhere
        }
        return below.first.map { .child(Filename(bytes: $0)) } ?? .itself
    }
}
