package import FileProvider
package import ItemCatalog
package import QueryLanguage
package import Trees

/// One result.
package struct FoundItem: Sendable, Equatable {
    package var row: SearchRow
    package var facts: ItemFacts
}

/// One search of a domain's catalog: all results, and then their changes. It blocks on SQLite; one task at a time may
/// use it, on a thread that may block.
package struct ItemSearch: ~Copyable {
    private let catalog: Catalog
    private let names: NameIndex?
    private let predicate: QueryPredicate
    private let scopes: Set<InodeID>?
    private let isShallow: Bool
    private let wantsTags: Bool
    private let plan: SearchPlan
    private var matcher: SearchMatcher
    /// The last results, by number: a digest of what was reported.
    private var known: [Int64: Int] = [:]
    private let isLive: Bool
    private var stored: StoreResults
    /// The number of names looked at.
    package private(set) var examined = 0

    /// The most results that are passed on at a time.
    package static let batch = 500
    /// The number of inodes, or names, that are read in one snapshot.
    private static let window: Int64 = 32_768
    /// The number of candidates requested from the index at a time: each request scans all names with the rarest
    /// trigrams.
    private static let candidates = 50_000
    /// With more candidates, a scan of all names is as fast.
    private static let mostCandidates = 60_000

    /// - Parameters:
    ///   - names: nil: every name is looked at.
    ///   - scopes: folders in which to search, and single documents; nil: everywhere.
    ///   - isShallow: only the items directly in these folders; by default, in the root.
    ///   - isLive: whether ``update(_:_:)`` will be called.
    ///   - uid: the owner of items that the store's own search finds.
    package init(
        _ predicate: QueryPredicate, catalog: Catalog, names: NameIndex?, scopes: Set<InodeID>? = nil,
        isShallow: Bool = false, wantsTags: Bool = false, isLive: Bool = false, uid: UInt32 = 0,
        _ surroundings: SearchSurroundings = SearchSurroundings()
    ) {
        self.catalog = catalog
        self.names = names
        self.predicate = predicate
        let scopes = isShallow ? scopes ?? [.root] : scopes
        self.scopes = scopes
        self.isShallow = isShallow
        self.wantsTags = wantsTags
        self.isLive = isLive
        stored = StoreResults(uid: uid)
        var plan = SearchPlan(predicate, isScoped: scopes != nil, owner: SearchMatcher.userNumber)
        // (No other way is bounded by the folders' size.)
        if isShallow, plan.way != .none { plan.way = .walk }
        self.plan = plan
        matcher = SearchMatcher(
            predicate, onNames: plan.onNames, scopes: scopes, isShallow: isShallow, wantsTags: wantsTags, surroundings)
    }

    // MARK: Gathering

    /// Finds all results. Items made, changed or moved meanwhile may be missed; ``update(_:_:)`` with the rows changed
    /// since the beginning corrects that.
    ///
    /// - Parameter found: gets the results as they are found; returns false to stop.
    /// - Throws: ``CatalogError``, and errors of `found`; soon after a cancellation of the task.
    package mutating func gather(_ found: ([FoundItem]) async throws -> Bool) async throws {
        known = [:]
        try await gatherAll(found)
    }

    private mutating func gatherAll(_ found: ([FoundItem]) async throws -> Bool) async throws {
        matcher.folders.forget()
        matcher.forgetTexts()
        matcher.inConflict = try catalog.readAside { try $0.inodesInConflict() }
        examined = 0
        switch plan.way {
        case .none: break
        case .few(let condition):
            let inodes = try catalog.readAside { reader in
                switch condition {
                case .uploading: try reader.pendingInodes()
                case .conflict: try reader.inodesInConflict()
                default: try reader.excludedInodes()
                }
            }
            try await gather(inodes, found)
        case .text(let text): try await gather(matcher.inodes(withText: text), found)
        case .index(let alternatives): try await gather(likeOneOf: alternatives, found)
        case .names: try await gatherNames(through: .max, after: .min, found)
        case .inodes(let bounds): try await gather(bounds, found)
        case .walk: try await walk(found)
        }
    }

    /// The number of unlisted folders of the store within the search.
    package mutating func unlistedFolders() throws -> Int {
        try catalog.readAside { reader in
            if isShallow {
                return try (scopes ?? []).count { id in
                    let folder = try reader.inode(id)
                    return folder.isFolder && !folder.isEnumerated
                }
            }
            var count = 0
            for folder in try reader.unlistedFolders() {
                try Task.checkCancellation()
                if try matcher.folders.isWithin(folder, reader) { count += 1 }
            }
            return count
        }
    }

    /// Takes the findings of the store's own search; call it between ``gather(_:)`` and ``update(_:_:)``.
    package mutating func take(
        _ findings: [StoreFinding], _ found: ([FoundItem]) async throws -> Bool
    ) async throws {
        stored.add(findings)
        let items = try catalog.readAside { reader in try matches(stored.rows(reader), reader) }
        _ = try await hand(items, found)
    }

    /// One item, in any folder; nil: it is gone.
    package mutating func item(at inode: InodeID, path: [UInt8]) throws -> FoundItem? {
        try catalog.readAside { reader in
            matcher.inConflict = try reader.conflicts(of: inode).isEmpty ? [] : [inode]
            let rows = try reader.searchRows(of: inode)
            let items = try matches(rows, reader)
            return items.first { $0.facts.path == path } ?? items.first
        }
    }

    /// Lets other searches run before each piece of work.
    ///
    /// - Throws: `CancellationError` after a cancellation.
    private func pause() async throws {
        await Task.yield()
        try Task.checkCancellation()
    }

    /// The rows that match.
    private mutating func matches(_ rows: [SearchRow], _ reader: Catalog.Reader) throws -> [FoundItem] {
        examined += rows.count
        var items: [FoundItem] = []
        for row in rows {
            try Task.checkCancellation()
            if let facts = try matcher.facts(of: row, reader) { items.append(FoundItem(row: row, facts: facts)) }
        }
        return items
    }

    /// - Returns: whether to go on.
    private mutating func hand(
        _ items: [FoundItem], _ found: ([FoundItem]) async throws -> Bool
    ) async throws -> Bool {
        if isLive { for item in items { known[item.row.number] = Self.digest(item) } }
        var rest = items[...]
        while !rest.isEmpty {
            guard try await found(Array(rest.prefix(Self.batch))) else { return false }
            rest = rest.dropFirst(Self.batch)
        }
        return true
    }

    private mutating func gather(
        _ inodes: Set<InodeID>, _ found: ([FoundItem]) async throws -> Bool
    ) async throws {
        let inodes = inodes.sorted { $0.rawValue < $1.rawValue }
        for start in stride(from: 0, to: inodes.count, by: Self.batch) {
            let part = inodes[start..<min(start + Self.batch, inodes.count)]
            try await pause()
            let items = try catalog.readAside { reader in
                try matches(part.flatMap { try reader.searchRows(of: $0) }, reader)
            }
            guard try await hand(items, found) else { return }
        }
    }

    private mutating func gather(
        likeOneOf alternatives: [[String]], _ found: ([FoundItem]) async throws -> Bool
    ) async throws {
        // (Before the range is read: names added later are in the index, or beyond the range.)
        let range = names?.range
        guard let names, let range, let rarest = Self.rarest(alternatives, names) else {
            // With a part that most names have, a scan of the names is as fast.
            if scopes != nil { return try await walk(found) }
            _ = try await gatherNames(through: .max, after: .min, found)
            return
        }
        // Names that the index has in another form; looked at first, so that none is missed that the index takes up
        // meanwhile.
        let moved = try catalog.readAside { try $0.movedNames() }
        var seen = Set(moved)
        guard try await examine(moved, nil, found) else { return }
        var end = range.upperBound
        for part in rarest {
            var last = range.lowerBound - 1
            while last < range.upperBound {
                // If the index cannot be read, all remaining names are looked at.
                guard let like = try? names.numbers(like: part, after: last, limit: Self.candidates) else { break }
                let numbers = like.prefix { $0 <= range.upperBound }.filter { !seen.contains($0) }
                if rarest.count > 1 { seen.formUnion(numbers) }
                for start in stride(from: 0, to: numbers.count, by: Self.batch) {
                    let piece = Array(numbers[start..<min(start + Self.batch, numbers.count)])
                    guard try await examine(piece, names, found) else { return }
                }
                last = like.count < Self.candidates ? range.upperBound : min(like.last!, range.upperBound)
            }
            end = min(end, last)
        }
        guard try await gatherNames(through: range.lowerBound - 1, after: .min, found) else { return }
        try await gatherNames(through: .max, after: end, besides: rarest.count > 1 ? seen : [], found)
    }

    /// The rarest part of each alternative; nil: together they are in too many names.
    private static func rarest(_ alternatives: [[String]], _ names: NameIndex) -> [String]? {
        var (parts, left) = ([String](), mostCandidates)
        for alternative in alternatives {
            let counted = alternative.map { (part: $0, names: names.estimate($0)) }
            guard let rarest = counted.min(by: { $0.names < $1.names }), rarest.names <= left else { return nil }
            left -= rarest.names
            parts.append(rarest.part)
        }
        return parts
    }

    private mutating func examine(
        _ numbers: [Int64], _ index: NameIndex?, _ found: ([FoundItem]) async throws -> Bool
    ) async throws -> Bool {
        var gone = 0
        try await pause()
        let items = try catalog.readAside { reader in
            let rows = try numbers.compactMap { try reader.searchRow($0) }
            gone = numbers.count - rows.count
            return try matches(rows, reader)
        }
        if gone > 0 { index?.missed(gone) }
        return try await hand(items, found)
    }

    /// - Returns: whether to go on.
    @discardableResult
    private mutating func gatherNames(
        through last: Int64, after first: Int64, besides seen: Set<Int64> = [],
        _ found: ([FoundItem]) async throws -> Bool
    ) async throws -> Bool {
        var after = first
        while true {
            try await pause()
            let (items, end) = try catalog.readAside { reader in
                let names = try reader.searchNames(after: after, through: last, limit: Int(Self.window))
                var rows: [SearchRow] = []
                for name in names {
                    try Task.checkCancellation()
                    if !seen.contains(name.0), matcher.mayMatch(name: name.1), let row = try reader.searchRow(name.0) {
                        rows.append(row)
                    }
                }
                examined += names.count - rows.count
                return (try matches(rows, reader), names.last?.0)
            }
            guard try await hand(items, found) else { return false }
            guard let end else { return true }
            after = end
        }
    }

    private mutating func gather(_ bounds: SearchBounds, _ found: ([FoundItem]) async throws -> Bool) async throws {
        var after: Int64 = 0
        while let next = try catalog.readAside({ try $0.inode(after: after) }) {
            let last = next + Self.window
            try await pause()
            let items = try catalog.readAside { reader in
                try matches(try reader.searchRows(after: next - 1, through: last, bounds), reader)
            }
            guard try await hand(items, found) else { return }
            after = last
        }
    }

    private mutating func walk(_ found: ([FoundItem]) async throws -> Bool) async throws {
        var folders = (scopes ?? [.root]).sorted { $0.rawValue > $1.rawValue }
        var seen = Set(folders)
        let items = try catalog.readAside { reader in
            try matches(try folders.flatMap { try reader.searchRows(of: $0) }.filter { $0.kind != .folder }, reader)
        }
        guard try await hand(items, found) else { return }
        while let folder = folders.popLast() {
            var last: Int64?
            repeat {
                try await pause()
                let (items, inner, end) = try catalog.readAside { reader in
                    let rows = try reader.searchRows(in: folder, after: last, limit: Self.batch)
                    return (
                        try matches(rows, reader), rows.filter { $0.kind == .folder }.map(\.inode),
                        rows.count == Self.batch ? rows.last?.number : nil
                    )
                }
                guard try await hand(items, found) else { return }
                if !isShallow { for folder in inner where seen.insert(folder).inserted { folders.append(folder) } }
                last = end
            } while last != nil
        }
    }

    // MARK: Changes

    /// The changes of the results.
    package struct Changes: Sendable, Equatable {
        package var added: [FoundItem] = []
        package var changed: [FoundItem] = []
        /// Numbers of rows.
        package var removed: [Int64] = []
        package var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }
    }

    /// The changes of the results since they were gathered, or last updated.
    ///
    /// - Parameter rows: the rows changed since then.
    package mutating func update(_ rows: ChangedRows) async throws -> Changes {
        let isEverything = try catalog.readAside { reader in
            if rows.isTooMany || rows.hasConflicts { return true }
            // Items below a moved folder have other paths.
            for inode in rows.inodes where try matcher.folders.hasChanged(inode, reader) { return true }
            for item in rows.items {
                if let inode = try reader.item(item)?.inode, try matcher.folders.hasChanged(inode, reader) {
                    return true
                }
            }
            for number in rows.names {
                guard let row = try reader.searchRow(number), row.kind == .folder else { continue }
                if try matcher.folders.hasChanged(row.inode, reader) { return true }
                // A folder that came into the scope, with its contents, may never have been looked at.
                if scopes != nil, !isShallow, !matcher.folders.knows(row.inode), try reader.hasChildren(row.inode) {
                    return true
                }
            }
            return false
        }
        var changes = isEverything ? try await compareAll() : try compare(rows)
        if !stored.isEmpty { try compareStored(&changes) }
        return changes
    }

    /// A finding of the store's search is dropped once its folder is listed.
    private mutating func compareStored(_ changes: inout Changes) throws {
        let items = try catalog.readAside { reader in try matches(stored.rows(reader), reader) }
        var gone = known.filter { StoreResults.isOne($0.key) }
        for item in items {
            known[item.row.number] = Self.note(item, known, &changes)
            gone[item.row.number] = nil
        }
        for number in gone.keys {
            known[number] = nil
            changes.removed.append(number)
        }
    }

    private mutating func compareAll() async throws -> Changes {
        let old = known
        known = [:]
        var (changes, now) = (Changes(), [Int64: Int]())
        try await gatherAll { items in
            for item in items { now[item.row.number] = Self.note(item, old, &changes) }
            return true
        }
        // (Findings of the store's search are compared afterwards.)
        known = now
        for (number, digest) in old where StoreResults.isOne(number) { known[number] = digest }
        changes.removed = old.keys.filter { known[$0] == nil }
        return changes
    }

    /// - Returns: the digest.
    private static func note(_ item: FoundItem, _ old: [Int64: Int], _ changes: inout Changes) -> Int {
        let digest = digest(item)
        switch old[item.row.number] {
        case nil: changes.added.append(item)
        case digest: break
        default: changes.changed.append(item)
        }
        return digest
    }

    private mutating func compare(_ rows: ChangedRows) throws -> Changes {
        var changes = Changes()
        matcher.forgetTexts()
        try catalog.readAside { reader in
            var numbers = rows.names
            for inode in rows.inodes { numbers.formUnion(try reader.searchRows(of: inode).map(\.number)) }
            for item in rows.items {
                guard let inode = try reader.item(item)?.inode else { continue }
                numbers.formUnion(try reader.searchRows(of: inode).map(\.number))
            }
            for number in numbers.sorted() {
                try Task.checkCancellation()
                let row = try reader.searchRow(number)
                if let row, let facts = try matcher.facts(of: row, reader) {
                    known[number] = Self.note(FoundItem(row: row, facts: facts), known, &changes)
                } else if known.removeValue(forKey: number) != nil {
                    changes.removed.append(number)
                }
            }
        }
        return changes
    }

    private static func digest(_ item: FoundItem) -> Int {
        var hasher = Hasher()
        let (row, facts) = (item.row, item.facts)
        hasher.combine(row.inode)
        hasher.combine(row.kind)
        hasher.combine(row.size)
        for date in [row.modified, row.created] {
            hasher.combine(date.seconds)
            hasher.combine(date.subsecond)
        }
        hasher.combine(row.uid)
        hasher.combine(row.bytesHere)
        hasher.combine(row.isWhole)
        hasher.combine(row.isEnumerated)
        hasher.combine(row.isPending)
        hasher.combine(row.isExcluded)
        hasher.combine(row.identifier)
        hasher.combine(facts.path)
        hasher.combine(facts.isPinned)
        hasher.combine(facts.isInConflict)
        hasher.combine(facts.isDownloading)
        hasher.combine(facts.failure)
        hasher.combine(facts.tags)
        return hasher.finalize()
    }
}
