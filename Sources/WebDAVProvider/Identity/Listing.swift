import FileProvider
import HTTPTransport
import Logging

/// One look into a folder.
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
    /// All that is in a folder, with identifiers; and what of it cannot be shown.
    ///
    /// - Throws: ``FileProviderError/Code/noSuchItem``.
    func list(_ folder: ItemIdentifier) async throws(FileProviderError) -> ItemPage {
        let traits = try await probe.traits()
        let listing = try await reach(folder, isFolder: true) { location throws(FileProviderError) in
            try await read(location)
        }
        let identifiers = try await identify(listing, in: folder, traits)
        sweep(listing.leftovers, in: folder)
        let items = listing.entries.compactMap { entry in
            identifiers[entry.name].map { Self.item($0, Place(parent: folder, name: entry.name), entry.resource) }
        }
        return ItemPage(
            items: items, leftOut: listing.leftOut.map { LeftOutItem(filename: $0.name, reason: $0.reason) })
    }

    /// Nil: there is no folder at this place.
    func read(_ folder: HTTPLocation) async throws(FileProviderError) -> Listing? {
        if let listing = try await readChanges(in: folder) { return listing }
        var listing = Listing()
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
                    listing.leftOut.append((error.name, error.reason))
                    continue
                }
                switch place(resource, in: folder) {
                case .itself:
                    isFolder = resource.isFolder
                    token = response.properties[.syncToken]
                case .child(let name): listing.add(Listing.Entry(name: name, resource: resource))
                case .elsewhere:
                    let name = Filename(bytes: resource.location.components.last ?? [])
                    let path = resource.location.path.prefix(200)
                    listing.leftOut.append((name, "its address, \(path), is not in this folder"))
                }
            }
        }
        guard isThere else { return nil }
        guard let isFolder else {
            let why =
                first.map {
                    "lists it under another address (“\($0.prefix(200))”): does a proxy on the way change paths?"
                }
                ?? "lists nothing, not even the folder itself"
            throw FileProviderError(.cannotSynchronize, "\(folder): the server \(why)")
        }
        guard isFolder else { return nil }
        if let token, !token.isEmpty, listing.leftOut.isEmpty {
            collections.keep(listing, at: folder, token: token, isWhole: true)
        }
        return listing
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

    // MARK: Identifiers

    /// The identifier of each entry by its name.
    private func identify(
        _ listing: Listing, in folder: ItemIdentifier, _ traits: ServerTraits
    ) async throws(FileProviderError) -> [Filename: ItemIdentifier] {
        var identifiers: [Filename: ItemIdentifier] = [:]
        var unnamed: [Listing.Entry] = []
        for entry in listing.entries {
            if let identifier = entry.resource.identifier {
                identifiers[entry.name] = ItemIdentifier(identifier)
            } else {
                unnamed.append(entry)
            }
        }
        if !unnamed.isEmpty {
            let leftOut = Set(listing.leftOut.map(\.name))
            let recognition = Recognition(provider: self, folder: folder, leftOut: leftOut)
            identifiers.merge(try await recognition.identify(unnamed)) { $1 }
        }
        // Only what cannot be told from the identifier.
        places.put(
            identifiers.compactMap { name, identifier in
                let place = Place(parent: folder, name: name)
                let isNatural = PathIdentifier.place(of: identifier) == place && places.place(of: identifier) == nil
                return isNatural ? nil : (identifier, place)
            })
        return identifiers
    }

    /// As in a listing, of one item.
    func identifier(of resource: DAVResource, at place: Place) async throws(FileProviderError) -> ItemIdentifier {
        let identifier: ItemIdentifier
        if let own = resource.identifier {
            identifier = ItemIdentifier(own)
        } else {
            let entry = Listing.Entry(name: place.name, resource: resource)
            let recognition = Recognition(provider: self, folder: place.parent)
            identifier = try await recognition.identifyAlone(entry)
        }
        places.put(identifier, at: place)
        return identifier
    }

    // MARK: What a crash left

    /// Takes away what is older than an hour by the server's clock, as far as that can be told from its other entries.
    private func sweep(_ leftovers: [Listing.Entry], in folder: ItemIdentifier) {
        guard !leftovers.isEmpty else { return }
        Task {
            for entry in leftovers {
                guard let location = try? await location(of: folder, isFolder: true).appending(entry.name.bytes) else {
                    return
                }
                await sweep(entry, at: location)
            }
        }
    }
}
