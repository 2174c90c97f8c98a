import FileProvider

extension BrokenProvider {
    /// Rules 1001 to 1008, in a store that takes no changes.
    static let walkers: [BrokenProvider] = [
        BrokenProvider(1001, "The second page of a folder names itself as the next.", with: .itemsToRead) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                if let page { result.nextPage = page }
                return result
            }
        },
        BrokenProvider(1002, "The last item of a page is repeated on the next page.", with: .itemsToRead) {
            let last = Memo<[ItemIdentifier: Item]>([:])
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                let before = last { last in
                    defer { last[folder] = result.items.last }
                    return last[folder]
                }
                if page != nil, let before { result.items.insert(before, at: 0) }
                return result
            }
        },
        BrokenProvider(1003, "Enumerated items lack the creation date.", with: .itemsToRead) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                for index in result.items.indices { result.items[index].creationDate = nil }
                return result
            }
        },
        BrokenProvider(1004, "Every document has the topmost folder as its parent.", with: .itemsToRead) {
            $0.item = { item in
                var item = item
                if item.kind.isDocument { item.parentIdentifier = .rootContainer }
                return item
            }
        },
        BrokenProvider(1005, "A document below the topmost folder has its path as its name.", with: .itemsToRead) {
            $0.item = { item in
                var item = item
                if item.kind.isDocument, item.parentIdentifier != .rootContainer {
                    item.filename = Filename("notes/\(item.filename)")
                }
                return item
            }
        },
        BrokenProvider(1006, "A document's identifier has more than 1,024 bytes.", with: .itemsToRead) {
            let padding = String(repeating: "x", count: 1_024)
            let short: @Sendable (ItemIdentifier) -> ItemIdentifier = { identifier in
                ItemIdentifier(identifier.rawValue.filter { $0 != "x" })
            }
            $0.item = { item in
                var item = item
                if item.filename == "readme.txt" {
                    item.identifier = ItemIdentifier(item.identifier.rawValue + padding)
                }
                return item
            }
            $0.placeholder = { base, identifier async throws(FileProviderError) in
                try await base.providePlaceholder(for: short(identifier))
            }
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                try await base.startProvidingItem(short(identifier), version: version, range: range, into: sink)
            }
        },
        BrokenProvider(1007, "Existing folders have the size 4,096.", with: .itemsToRead) {
            $0.item = { item in
                var item = item
                if item.kind.isFolder { item.size = 4_096 }
                return item
            }
        },
        BrokenProvider(1008, "A server with another clock answers every other walk.", with: .itemsToRead) {
            // A walk begins at the topmost folder.
            let walks = Memo(0)
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                let count = walks { walks in
                    if page == nil, folder == .rootContainer { walks += 1 }
                    return walks
                }
                guard count.isMultiple(of: 2) else { return result }
                for index in result.items.indices { result.items[index].creationDate?.nanoseconds += 1 }
                return result
            }
        },
    ]

    /// Rules 1009 to 1017, in a store that takes no changes.
    static let readers: [BrokenProvider] = [
        BrokenProvider(1009, "A document of 12 bytes has the size 13.", with: .itemsToRead) {
            $0.item = { item in
                var item = item
                if item.size == 12 { item.size = 13 }
                return item
            }
        },
        BrokenProvider(1010, "Every other download of a small document has another first byte.", with: .itemsToRead) {
            let times = Memo<[ItemIdentifier: Int]>([:])
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
                let count = times { times in
                    times[identifier, default: 0] += 1
                    return times[identifier] ?? 0
                }
                guard try base.now(identifier).size < 100, range.lowerBound == 0, count.isMultiple(of: 2) else {
                    return
                }
                try await sink.write([UInt8(truncatingIfNeeded: count)], at: 0)
            }
        },
        BrokenProvider(
            1011, "A download of the last byte alone of an existing document sends nothing.", with: .itemsToRead
        ) {
            $0.download = sendsNoLastByte
        },
        BrokenProvider(1012, "A byte too many of an existing document is written.", with: .itemsToRead) {
            $0.download = writesOneByteMore
        },
        BrokenProvider(1013, "A download of an existing document ignores the requested version.", with: .itemsToRead) {
            $0.download = sendsAnyVersion
        },
        BrokenProvider(1014, "A folder that never existed is enumerated as empty.", with: .itemsToRead) {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.enumerateItems(in: folder, startingAt: page)
                } catch {
                    guard error.code == .noSuchItem else { throw error }
                    return ItemPage(items: [])
                }
            }
        },
        BrokenProvider(
            1015, "A second download of half of an existing document is refused as busy.", with: .itemsToRead
        ) {
            let (running, refused) = (Memo<Set<ItemIdentifier>>([]), Memo<Set<ItemIdentifier>>([]))
            $0.download = { base, identifier, version, range, sink async throws(FileProviderError) in
                if range.count == 30_001 { try await enter(identifier, running, refused) }
                defer { running { $0 = [] } }
                try await base.startProvidingItem(identifier, version: version, range: range, into: sink)
            }
        },
        BrokenProvider(
            1016, "A cancelled download of an existing document fails as a broken connection.", with: .itemsToRead
        ) {
            $0.download = takesCancellationForFailure
        },
        BrokenProvider(
            1017, "A download of an existing document returns normally although the sink refused bytes.",
            with: .itemsToRead
        ) {
            $0.download = swallowsRefusal
        },
    ]

    /// Rules 1018 and 1019.
    static let refusers: [BrokenProvider] = [
        BrokenProvider(1018, "A change is refused with an error for this item only.", with: .itemsToRead) {
            $0.change = { _, _, _, _, _ async throws(FileProviderError) in
                throw FileProviderError(.permissionDenied, "403 Forbidden")
            }
        },
        BrokenProvider(1019, "A creation is refused, but done.", with: .itemsToRead) {
            $0.create = { base, template, contents async throws(FileProviderError) in
                base.plant(template.filename, in: template.parentIdentifier)
                return try await base.createItem(template, contents: contents)
            }
        },
    ]
}
