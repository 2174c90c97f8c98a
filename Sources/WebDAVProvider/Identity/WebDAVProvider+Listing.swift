package import FileProvider
import HTTPTransport

/// Folders' listings, with identifiers.
extension WebDAVProvider {
    /// A listing is read as it arrives from the server: its pages are parts of one answer, and must be requested in
    /// order.
    ///
    /// - Throws: ``FileProviderError/Code/cannotSynchronize`` when the next page is requested too late.
    package func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        guard let page else {
            let (stream, first) = try await begin(folder)
            let recognition = ListingRecognition(provider: self, folder: folder)
            return try await self.page(of: OpenListing(folder: folder, stream: stream, recognition: recognition), first)
        }
        return try await self.page(of: listings.take(page, of: folder), nil)
    }

    /// Lists a folder to its end, and learns the places of its items.
    func list(_ folder: ItemIdentifier, _ each: ([Item]) -> Void = { _ in }) async throws(FileProviderError) {
        var page: Page?
        repeat {
            let answer = try await enumerateItems(in: folder, startingAt: page)
            each(answer.items)
            page = answer.nextPage
        } while page != nil
    }

    /// The first part of a listing, and the stream of the others.
    private func begin(
        _ folder: ItemIdentifier
    ) async throws(FileProviderError) -> (ListingStream, ListingStream.Part) {
        _ = try await probe.traits()
        return try await reach(folder, isFolder: true) { location throws(FileProviderError) in
            // Shorter than the time after which the connection counts as stalled.
            let stream = ListingStream(patience: .seconds(settings.http.idleTimeout * 0.8))
            stream.begin { [self] () async throws(FileProviderError) in try await send(location, to: stream) }
            return try await stream.next().map { (stream, $0) }
        }
    }

    /// - Returns: the last part; nil: there is no folder at this place.
    private func send(
        _ folder: HTTPLocation, to stream: ListingStream
    ) async throws(FileProviderError) -> ListingStream.Part? {
        var part = ListingStream.Part()
        let isThere = try await read(folder) { piece throws(FileProviderError) in
            part.listing.add(piece)
            guard part.listing.count >= ListingStream.Part.size else { return }
            try await stream.send(part)
            part = ListingStream.Part()
        }
        part.isLast = true
        return isThere ? part : nil
    }

    /// - Parameter part: the next part, if it has arrived.
    private func page(
        of listing: OpenListing, _ part: ListingStream.Part?
    ) async throws(FileProviderError) -> ItemPage {
        var listing = listing
        var page = ItemPage(items: [])
        do throws(FileProviderError) {
            if listing.rest == nil {
                var next = part
                if next == nil { next = try await listing.stream.next() }
                guard let part = next else { throw gone(listing.folder) }
                page = try await self.page(of: part.listing, in: listing.folder, &listing.recognition)
                listing.leftovers += part.listing.leftovers.prefix(Self.mostLeftovers - listing.leftovers.count)
                if part.isLast {
                    // (The connection is free again: identifying these may need other requests.)
                    listing.rest = try await listing.recognition.end()[...]
                    sweep(listing.leftovers, in: listing.folder)
                }
            }
        } catch {
            listing.stream.giveUp(error)
            throw error
        }
        if let rest = listing.rest {
            page.items += items(rest.prefix(ListingStream.Part.size), in: listing.folder)
            listing.rest = rest.dropFirst(ListingStream.Part.size)
        }
        page.nextPage = listing.rest?.isEmpty == true ? nil : listings.keep(listing)
        return page
    }

    // MARK: Identifiers

    /// The items of this part and earlier ones that are identified so far.
    private func page(
        of part: Listing, in folder: ItemIdentifier, _ recognition: inout ListingRecognition
    ) async throws(FileProviderError) -> ItemPage {
        var identified: [ListingRecognition.Identified] = []
        var unnamed: [Listing.Entry] = []
        for entry in part.entries {
            if let identifier = entry.resource.identifier {
                identified.append((entry, ItemIdentifier(identifier)))
            } else {
                unnamed.append(entry)
            }
        }
        if !unnamed.isEmpty || !part.leftOut.isEmpty {
            identified += try await recognition.take(unnamed, leftOut: part.leftOut.map(\.name))
        }
        return ItemPage(
            items: items(identified, in: folder),
            leftOut: part.leftOut.map { LeftOutItem(filename: $0.name, reason: $0.reason) })
    }

    /// Makes the items, and registers their places.
    private func items(_ identified: some Collection<ListingRecognition.Identified>, in folder: ItemIdentifier)
        -> [Item]
    {
        // Only places that the identifier does not tell.
        places.put(
            identified.compactMap { entry, identifier in
                let place = Place(parent: folder, name: entry.name)
                let isNatural = PathIdentifier.place(of: identifier) == place && places.place(of: identifier) == nil
                return isNatural ? nil : (identifier, place)
            })
        return identified.map { entry, identifier in
            Self.item(identifier, Place(parent: folder, name: entry.name), entry.resource)
        }
    }

    /// As in a listing, for one item.
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

    // MARK: Leftovers of a crash

    /// Per listing; the rest is for the next listing.
    private static let mostLeftovers = 1_000

    /// Deletes leftovers older than an hour by the server's clock, as far as the other entries tell its time.
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
