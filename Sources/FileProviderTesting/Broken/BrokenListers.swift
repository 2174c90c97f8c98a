import FileProvider

extension BrokenProvider {
    /// Rules 101 to 110.
    static let listers: [BrokenProvider] = [
        BrokenProvider(101, "The topmost folder has a parent of its own.") {
            $0.item = { item in
                var item = item
                if item.identifier == .rootContainer { item.parentIdentifier = ItemIdentifier("above") }
                return item
            }
        },
        BrokenProvider(102, "A folder at the end of a page is repeated on the next page.") {
            let last = Memo<[ItemIdentifier: Item]>([:])
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                let before = last { last in
                    defer { last[folder] = result.items.last }
                    return last[folder]
                }
                if page != nil, let before, before.kind.isFolder { result.items.insert(before, at: 0) }
                return result
            }
        },
        BrokenProvider(103, "Enumerated items lack the creation date that placeholders have.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                for index in result.items.indices { result.items[index].creationDate = nil }
                return result
            }
        },
        BrokenProvider(104, "The third enumeration of an empty folder says that the folder is gone.") {
            let times = Memo<[ItemIdentifier: Int]>([:])
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                let result = try await base.enumerateItems(in: folder, startingAt: page)
                guard result.items.isEmpty, page == nil else { return result }
                let count = times { times in
                    times[folder, default: 0] += 1
                    return times[folder] ?? 0
                }
                if count == 3 { throw FileProviderError(.noSuchItem, "\(folder): never had items") }
                return result
            }
        },
        BrokenProvider(105, "Items three folders deep are enumerated with the wrong parent.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                let parent = try base.now(folder).parentIdentifier
                let above = try base.now(parent).parentIdentifier
                guard parent != .rootContainer, above != .rootContainer else { return result }
                for index in result.items.indices { result.items[index].parentIdentifier = parent }
                return result
            }
        },
        BrokenProvider(106, "A deleted folder is enumerated as empty.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                do throws(FileProviderError) {
                    return try await base.enumerateItems(in: folder, startingAt: page)
                } catch {
                    // An identifier that was never given is refused as it should be.
                    guard folder.rawValue.hasPrefix("item-") else { throw error }
                    return ItemPage(items: [])
                }
            }
        },
        BrokenProvider(107, "Pages are counted by position, so that a deletion hides an item.") {
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                if page == nil { _ = try await base.enumerateItems(in: folder, startingAt: nil) }
                let items = base.items(in: folder)
                let start = min(items.count, page.map { Int($0.bytes[0]) } ?? 0)
                let end = min(items.count, start + 4)
                return ItemPage(
                    items: Array(items[start..<end]), nextPage: end < items.count ? Page(bytes: [UInt8(end)]) : nil)
            }
        },
        BrokenProvider(108, "From the second enumeration of a folder on, its items have later dates.") {
            let times = Memo<[ItemIdentifier: Int64]>([:])
            $0.enumerate = { base, folder, page async throws(FileProviderError) in
                var result = try await base.enumerateItems(in: folder, startingAt: page)
                let count = times { times in
                    if page == nil { times[folder, default: -1] += 1 }
                    return times[folder] ?? 0
                }
                for index in result.items.indices { result.items[index].creationDate?.nanoseconds += count }
                return result
            }
        },
        BrokenProvider(109, "Folders have the size 4,096, as on a disk.") {
            $0.item = { item in
                var item = item
                if item.kind.isFolder { item.size = 4_096 }
                return item
            }
        },
        BrokenProvider(
            110, "An identifier that was never given is refused as an error of the store, not as an absent item."
        ) {
            $0.placeholder = { base, identifier async throws(FileProviderError) in
                guard identifier == .rootContainer || identifier.rawValue.hasPrefix("item-") else {
                    throw FileProviderError(.cannotSynchronize, "\(identifier): not an identifier")
                }
                return try await base.providePlaceholder(for: identifier)
            }
        },
    ]
}
