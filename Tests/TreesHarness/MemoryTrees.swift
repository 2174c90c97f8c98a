package import FileProvider
package import Trees

/// The trees in dictionaries: replaces a catalog for the rules, without SQL and without a file.
///
/// Single-threaded. The clock advances only by ``pass(seconds:)`` and by a microsecond per transaction.
package final class MemoryTrees: TreeStore {
    package private(set) var now: FileTime
    package let exclusions: Exclusions
    package let hold: DeletionHold
    package private(set) var transaction = TreeTransaction()
    package let waiting = WaitingItems()
    package let reopened = ReopenedFolders()

    private struct Name {
        var number: Int64
        var inode: InodeID
    }
    private struct Conflict {
        var original: ItemID
        /// An inode; or, negated, an item whose deletion is delayed.
        var copy: Int64
        var moment: FileTime
        var reason: ConflictReason
    }

    private var itemRows: [ItemID: ItemRecord] = [:]
    private var inodeRows: [InodeID: InodeRecord] = [:]
    private var names: [InodeID: [Filename: Name]] = [:]
    private var attributes: [InodeID: [[UInt8]: [UInt8]]] = [:]
    private var conflictRows: [Int64: Conflict] = [:]
    private var vanishedItems: [FileTime: Int] = [:]
    private var noteRows: [String: String] = [:]
    // Indices.
    private var itemOfInode: [InodeID: ItemID] = [:]
    private var itemOfIdentifier: [ItemIdentifier: ItemID] = [:]
    private var local: [ItemID: Set<ItemID>] = [:]
    private var remote: [ItemID: Set<ItemID>] = [:]
    private var base: [ItemID: Set<ItemID>] = [:]
    private var places: [InodeID: Set<Place>] = [:]
    // The last numbers given out.
    private var (lastItem, lastInode, lastName, lastConflict): (Int64, Int64, Int64, Int64) = (1, 1, 0, 0)
    private var front: Int64 = 1
    /// Undoes the changes of this transaction, the latest change last in the array.
    private var undo: [() -> Void] = []

    private struct Place: Hashable {
        var folder: InodeID
        var name: Filename
    }

    package init(
        exclusions: Exclusions = Exclusions(), hold: DeletionHold = DeletionHold(),
        at now: FileTime = FileTime(seconds: 1_700_000_000)
    ) {
        self.now = now
        self.exclusions = exclusions
        self.hold = hold
        inodeRows[.root] = InodeRecord(
            id: .root, kind: .folder, mode: 0o755, uid: 1_000, gid: 1_000, linkCount: 2, size: 0, accessed: now,
            modified: now, changed: now, born: now, target: nil, generation: 1, baseSize: 0, extents: nil, writing: nil,
            isEnumerated: false)
        let place = TreePlace(parent: ItemID(rawValue: 0), name: Filename(bytes: []))
        set(
            .root,
            to: ItemRecord(
                id: .root, inode: .root, identifier: .rootContainer, kind: .folder, base: place, baseVersion: nil,
                local: place, contentRevision: 0, metadataRevision: 0, remote: place, remoteVersion: nil,
                remoteFacts: RemoteFacts(size: 0, modified: FileTime(seconds: 0), born: nil, mode: nil),
                readyAt: FileTime(seconds: 0), failure: nil, sent: [], isPinned: false, isExcluded: false))
    }

    // MARK: Transactions

    package func read<T>(_ body: (MemoryTrees) throws -> T) rethrows -> T { try body(self) }

    /// Applies all changes before it returns; applies none when it throws.
    package func write<T>(_ body: (MemoryTrees) throws -> T) throws -> T {
        transaction = TreeTransaction()
        undo = []
        now = FileTime(nanoseconds: now.nanoseconds + 1_000)
        do { return try body(self) } catch {
            for step in undo.reversed() { step() }
            throw error
        }
    }

    package func pass(seconds: Double) { now = now.adding(seconds: seconds) }

    /// All rows, for comparing: items, inodes, and names in the order of listings.
    package var rows: (items: [ItemRecord], inodes: [InodeRecord], names: [String]) {
        (
            itemRows.values.sorted { $0.id.rawValue < $1.id.rawValue },
            inodeRows.values.sorted { $0.id.rawValue < $1.id.rawValue },
            inodeRows.keys.sorted { $0.rawValue < $1.rawValue }.flatMap { folder in
                entries(of: folder).map { "\(folder.rawValue)/\($0.name) \($0.number) \($0.inode.rawValue)" }
            }
        )
    }

    private func entries(of folder: InodeID) -> [(name: Filename, number: Int64, inode: InodeID)] {
        (names[folder] ?? [:]).map { ($0.key, $0.value.number, $0.value.inode) }.sorted { $0.1 < $1.1 }
    }

    // MARK: Row changes with undo

    private func set(_ id: ItemID, to row: ItemRecord?) {
        let old = itemRows[id]
        undo.append { [unowned self] in put(id, old) }
        put(id, row)
    }

    private func put(_ id: ItemID, _ row: ItemRecord?) {
        if let old = itemRows[id] {
            if let inode = old.inode { itemOfInode[inode] = nil }
            if let identifier = old.identifier { itemOfIdentifier[identifier] = nil }
            if let parent = old.local?.parent { local[parent]?.remove(id) }
            if let parent = old.remote?.parent { remote[parent]?.remove(id) }
            if let parent = old.base?.parent { base[parent]?.remove(id) }
        }
        itemRows[id] = row
        guard let row else { return }
        if let inode = row.inode { itemOfInode[inode] = id }
        if let identifier = row.identifier { itemOfIdentifier[identifier] = id }
        if let parent = row.local?.parent { local[parent, default: []].insert(id) }
        if let parent = row.remote?.parent { remote[parent, default: []].insert(id) }
        if let parent = row.base?.parent { base[parent, default: []].insert(id) }
    }

    private func set(_ id: InodeID, to row: InodeRecord?) {
        let old = inodeRows[id]
        undo.append { [unowned self] in inodeRows[id] = old }
        inodeRows[id] = row
    }

    private func set(_ name: Filename, in folder: InodeID, to entry: Name?) {
        let old = names[folder]?[name]
        undo.append { [unowned self] in put(name, folder, old) }
        put(name, folder, entry)
    }

    private func put(_ name: Filename, _ folder: InodeID, _ entry: Name?) {
        let place = Place(folder: folder, name: name)
        if let old = names[folder]?[name] { places[old.inode]?.remove(place) }
        names[folder, default: [:]][name] = entry
        if let entry { places[entry.inode, default: []].insert(place) }
    }

    /// Sets a property, and records how to undo that in this transaction.
    private func set<Value>(_ path: ReferenceWritableKeyPath<MemoryTrees, Value>, to value: Value) {
        let old = self[keyPath: path]
        undo.append { [unowned self] in self[keyPath: path] = old }
        self[keyPath: path] = value
    }

    private func sorted(
        _ ids: Set<ItemID>?, by place: KeyPath<ItemRecord, TreePlace?>,
        _ isIncluded: (ItemRecord) -> Bool = { _ in true }
    ) -> [ItemRecord] {
        (ids ?? []).compactMap { itemRows[$0] }.filter(isIncluded).sorted { one, other in
            let names = (one[keyPath: place]?.name, other[keyPath: place]?.name)
            return names.0 == names.1 ? one.id.rawValue < other.id.rawValue : names.0! < names.1!
        }
    }

    private func violates(_ what: String) -> CatalogError { CatalogError(.system, "not unique: \(what)") }
}

// MARK: - TreeReading: items

extension MemoryTrees {
    package func item(_ id: ItemID) throws -> ItemRecord? { itemRows[id] }
    package func item(of inode: InodeID) throws -> ItemRecord? { itemOfInode[inode].flatMap { itemRows[$0] } }
    package func item(identifiedBy identifier: ItemIdentifier) throws -> ItemRecord? {
        itemOfIdentifier[identifier].flatMap { itemRows[$0] }
    }

    package func localChildren(of folder: ItemID) throws -> [ItemRecord] { sorted(local[folder], by: \.local) }
    package func remoteChildren(of folder: ItemID) throws -> [ItemRecord] { sorted(remote[folder], by: \.remote) }

    package func remoteOccupant(of place: TreePlace, otherThan id: ItemID) throws -> ItemRecord? {
        sorted(remote[place.parent], by: \.remote) { $0.remote == place && $0.id != id }.first
    }

    package func items(basedAt place: TreePlace, readyAfter moment: FileTime) throws -> [ItemRecord] {
        sorted(base[place.parent], by: \.base) { $0.base == place && $0.readyAt > moment }
    }

    package func tombstones(in folder: ItemID) throws -> [ItemRecord] {
        sorted(base[folder], by: \.base) { $0.local == nil && $0.identifier != nil && $0.remote != nil }
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    package func attempts(at place: TreePlace) throws -> [ItemRecord] {
        itemRows.values.filter { $0.attempted == place && $0.identifier == nil }
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    package func attempts(in folder: ItemID) throws -> [ItemRecord] {
        itemRows.values.filter { $0.attempted?.parent == folder && $0.identifier == nil }
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    package func heldItems(within item: ItemID) throws -> [ItemRecord] {
        var level = [item]
        var held: [ItemRecord] = []
        while !level.isEmpty {
            held += level.sorted { $0.rawValue < $1.rawValue }.compactMap { itemRows[$0] }
                .filter { $0.heldSince != nil }
            level = level.flatMap { Array(local[$0] ?? []) }.filter { $0 != .root }
        }
        return held
    }

    package func holdsSomething(_ folder: ItemID) throws -> Bool {
        (local[folder] ?? []).contains { itemRows[$0]?.heldSince != nil }
    }

    package func remoteItemCount() throws -> Int { itemRows.values.count { $0.remote != nil } }

    package func itemsNotInPlace() throws -> [ItemID] {
        itemRows.values.filter { row in
            guard let remote = row.remote else { return false }
            if row.inode == nil { return row.local == nil && row.base == nil }
            return row.local != nil && row.local == row.base && remote != row.base
        }.map(\.id).sorted { $0.rawValue < $1.rawValue }
    }

    // MARK: Listings

    private func known(_ row: ItemRecord) -> KnownChild {
        KnownChild(
            name: row.remote?.name.bytes ?? [], content: row.remoteVersion?.content.bytes ?? [],
            metadata: row.remoteVersion?.metadata.bytes ?? [], size: row.remoteFacts.size,
            isSettled: row.base == row.remote && row.baseVersion == row.remoteVersion)
    }

    package func knownChildren(
        of folder: ItemID, otherThan others: Set<ItemID>
    ) throws -> [ItemIdentifier: KnownChild] {
        var all: [ItemIdentifier: KnownChild] = [:]
        for id in remote[folder] ?? [] where id != .root && !others.contains(id) {
            if let row = itemRows[id], let identifier = row.identifier { all[identifier] = known(row) }
        }
        return all
    }

    package func knownChild(_ identifier: ItemIdentifier) throws -> (item: ItemID, folder: ItemID?, known: KnownChild)?
    {
        guard let row = try item(identifiedBy: identifier), row.id != .root else { return nil }
        return (row.id, row.remote?.parent, known(row))
    }

    package func remoteIdentifiers(at place: TreePlace) throws -> [(item: ItemID, identifier: ItemIdentifier?)] {
        sorted(remote[place.parent], by: \.remote) { $0.remote == place }.map { ($0.id, $0.identifier) }
    }

    package func showsOnlyRemoteChildren(_ folder: InodeID, of item: ItemID) throws -> Bool {
        for (name, entry) in names[folder] ?? [:] {
            guard let row = try self.item(of: entry.inode), !isPending(row), row.heldSince == nil,
                row.local == TreePlace(parent: item, name: name), row.remote == row.local
            else { return false }
        }
        return (remote[item] ?? []).allSatisfy { $0 == .root || itemRows[$0]?.local?.parent == item }
    }

    // MARK: Pending changes

    private func isPending(_ row: ItemRecord) -> Bool {
        !row.isExcluded
            && (row.local != row.base || row.contentRevision != 0 || row.metadataRevision != 0
                || (row.local == nil && row.remote == nil))
    }

    private func retryAt(_ row: ItemRecord) -> FileTime { row.failure?.retryAt ?? FileTime(nanoseconds: 0) }

    package func pendingItems(
        at moment: FileTime, limit: Int
    ) throws -> [(item: ItemRecord, parent: ItemIdentifier?)] {
        let delayed = conflictRows.values.filter { $0.copy < 0 && itemRows[$0.original]?.contentRevision ?? 0 != 0 }
        let waiting = Set(delayed.map { ItemID(rawValue: -$0.copy) })
        return itemRows.values.filter { row in
            guard isPending(row), row.readyAt <= moment, retryAt(row) <= moment, !waiting.contains(row.id) else {
                return false
            }
            guard let local = row.local else { return true }
            return itemRows[local.parent]?.identifier != nil || row.isLost
        }
        .sorted { ($0.readyAt, $0.id.rawValue) < ($1.readyAt, $1.id.rawValue) }
        .prefix(limit)
        .map { row in (row, row.local.flatMap { itemRows[$0.parent]?.identifier }) }
    }

    package func hasUnsentChildren(_ folder: ItemID, at moment: FileTime, lasting: [String]) throws -> Bool {
        (local[folder] ?? []).union(remote[folder] ?? []).compactMap { itemRows[$0] }.contains { row in
            isPending(row) && row.readyAt < .farFuture && retryAt(row) < moment.adding(seconds: 60)
                && row.failure.map { $0.code != "held" && !lasting.contains($0.code) } ?? true
        }
    }

    package func hasNewRemoteChildren(_ folder: ItemID) throws -> Bool? {
        let children = (remote[folder] ?? []).compactMap { itemRows[$0] }
        if children.isEmpty { return nil }
        return children.contains { $0.base == nil || ($0.local != nil && $0.local == $0.base && $0.remote != $0.base) }
    }

    package func nextMoment(after moment: FileTime) throws -> FileTime? {
        let pending = itemRows.values.filter(isPending)
        let moments = pending.map(\.readyAt).filter { $0 > moment } + pending.map(retryAt).filter { $0 > moment }
        return moments.min().flatMap { $0 == .farFuture ? nil : $0 }
    }

    /// As `hydrant sync`: no change waits for its settle time or its next try.
    package func settleNow() {
        for row in itemRows.values where isPending(row) && row.readyAt != .farFuture {
            var row = row
            row.readyAt = min(row.readyAt, now)
            row.failure?.retryAt = FileTime(nanoseconds: 0)
            set(row.id, to: row)
        }
    }

    package var pending: [ItemRecord] { itemRows.values.filter(isPending).sorted { $0.id.rawValue < $1.id.rawValue } }
}

// MARK: - TreeReading: inodes, conflicts, notes

extension MemoryTrees {
    package func inodeIfPresent(_ id: InodeID) throws -> InodeRecord? {
        guard var row = inodeRows[id] else { return nil }
        row.capabilities = try item(of: id)?.remoteFacts.capabilities ?? .all
        return row
    }

    package func child(of folder: InodeID, named name: Filename) throws -> InodeRecord? {
        try names[folder]?[name].flatMap { try inodeIfPresent($0.inode) }
    }

    package func children(of folder: InodeID, after cookie: Int64, limit: Int) throws -> [FolderEntry] {
        try entries(of: folder).filter { $0.number > cookie - FolderEntry.origin }.prefix(limit).map { entry in
            FolderEntry(cookie: entry.number + FolderEntry.origin, name: entry.name, inode: try inode(entry.inode))
        }
    }

    package func hasChildren(_ folder: InodeID) throws -> Bool { names[folder]?.isEmpty == false }

    package func places(of inode: InodeID) throws -> [(folder: InodeID, name: Filename)] {
        (places[inode] ?? []).map { ($0, names[$0.folder]![$0.name]!.number) }
            // Names made by programs are numbered downwards from 0.
            .sorted { ($0.1 <= 0 ? 1 : 0, abs($0.1)) < ($1.1 <= 0 ? 1 : 0, abs($1.1)) }
            .map { ($0.0.folder, $0.0.name) }
    }

    package func firstPlace(of inode: InodeID) throws -> (folder: InodeID, name: Filename)? {
        try places(of: inode).first
    }

    package func number(of name: Filename, in folder: InodeID) throws -> Int64? { names[folder]?[name]?.number }

    package func extendedAttribute(_ name: [UInt8], of inode: InodeID) throws -> [UInt8]? { attributes[inode]?[name] }

    private func user(_ inode: InodeID) -> [[UInt8]: [UInt8]] {
        (attributes[inode] ?? [:]).filter { $0.key.starts(with: Array("user.".utf8)) }
    }

    package func userAttributes(of inode: InodeID) throws -> [String: [UInt8]] {
        var all: [String: [UInt8]] = [:]
        for (name, value) in user(inode) {
            if let name = String(validating: name, as: UTF8.self) { all[name] = value }
        }
        return all
    }

    package func userAttributeBytes(of inode: InodeID, besides name: [UInt8]) throws -> Int {
        user(inode).reduce(0) { $1.key == name ? $0 : $0 + $1.key.count + $1.value.count }
    }

    package func conflicts(of inode: InodeID) throws -> [ConflictRecord] {
        try conflictRows.sorted { $0.key < $1.key }.compactMap { id, row in
            let (original, copy) = (itemRows[row.original], inodeRows[InodeID(rawValue: row.copy)])
            guard let original, original.local != nil,
                let shown = try original.inode.flatMap({ try inodeIfPresent($0) }),
                let copy, shown.linkCount > 0, copy.linkCount > 0, shown.id != copy.id,
                try copy.id == inode || item(of: inode)?.id == original.id
            else { return nil }
            return ConflictRecord(
                id: id, original: original.id, copy: copy.id, moment: row.moment, reason: row.reason)
        }
    }

    package func delayedDeletions(for original: ItemID) throws -> [ItemID] {
        conflictRows.sorted { $0.key < $1.key }.map(\.value).filter { $0.original == original && $0.copy < 0 }
            .map { ItemID(rawValue: -$0.copy) }
    }

    package func vanished(after moment: FileTime) throws -> Int {
        vanishedItems.reduce(0) { $1.key > moment ? $0 + $1.value : $0 }
    }

    package func note(_ key: String) throws -> String? { noteRows[key] }

    package func notes(beginningWith prefix: String) throws -> [(key: String, value: String)] {
        noteRows.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

// MARK: - TreeStore

extension MemoryTrees {
    package func insert(_ inode: InodeRecord) throws -> InodeRecord {
        set(\.lastInode, to: lastInode + 1)
        var row = inode
        row.id = InodeID(rawValue: lastInode)
        set(row.id, to: row)
        return row
    }

    private func requireUnique(_ row: ItemRecord) throws {
        if let inode = row.inode, let other = itemOfInode[inode], other != row.id { throw violates("\(inode)") }
        if let identifier = row.identifier, let other = itemOfIdentifier[identifier], other != row.id {
            throw violates("\(identifier)")
        }
    }

    package func insert(_ item: ItemRecord) throws -> ItemRecord {
        var row = item
        row.id = ItemID(rawValue: lastItem + 1)
        try requireUnique(row)
        set(\.lastItem, to: lastItem + 1)
        set(row.id, to: row)
        return row
    }

    package func update(_ inode: InodeRecord) throws { if inodeRows[inode.id] != nil { set(inode.id, to: inode) } }

    package func update(_ item: ItemRecord) throws {
        guard itemRows[item.id] != nil else { return }
        try requireUnique(item)
        set(item.id, to: item)
    }

    package func deleteItem(_ id: ItemID) throws {
        set(id, to: ItemRecord?.none)
        set(\.conflictRows, to: conflictRows.filter { $0.value.original != id && $0.value.copy != -id.rawValue })
    }

    package func deleteInode(_ id: InodeID) throws {
        guard let row = inodeRows[id] else { return }
        if row.linkCount == 0 {
            if places[id]?.isEmpty == false { throw CatalogError(.system, "\(id) still has a name") }
            if var item = try item(of: id) {
                item.inode = nil
                set(item.id, to: item)
            }
            set(id, to: InodeRecord?.none)
            set(\.attributes[id], to: nil)
            set(\.conflictRows, to: conflictRows.filter { $0.value.copy != id.rawValue })
        }
    }

    package func moveRemoteChildren(of old: ItemID, to new: ItemID) throws {
        for id in remote[old] ?? [] {
            guard var row = itemRows[id] else { continue }
            row.remote?.parent = new
            set(id, to: row)
        }
    }

    // MARK: Names

    package func link(_ inode: InodeID, in folder: InodeID, as name: Filename, number: Int64?) throws {
        if names[folder]?[name] != nil { throw violates("\(folder)/\(name)") }
        if number == nil { set(\.lastName, to: lastName + 1) }
        set(name, in: folder, to: Name(number: number ?? lastName, inode: inode))
    }

    package func moveName(
        _ name: Filename, in folder: InodeID, to newName: Filename, in newFolder: InodeID
    ) throws {
        guard let entry = names[folder]?[name] else { return }
        if names[newFolder]?[newName] != nil { throw violates("\(newFolder)/\(newName)") }
        set(name, in: folder, to: nil)
        set(newName, in: newFolder, to: entry)
    }

    package func relink(_ name: Filename, in folder: InodeID, to inode: InodeID) throws {
        guard var entry = names[folder]?[name] else { return }
        entry.inode = inode
        set(name, in: folder, to: entry)
    }

    package func unlinkName(_ name: Filename, in folder: InodeID) throws {
        if names[folder]?[name] != nil { set(name, in: folder, to: nil) }
    }

    package func numberInFront() throws -> Int64? {
        // Never given out again, even when the transaction fails.
        front -= 1
        return front
    }

    package func touch(folder id: InodeID, links: Int64) throws {
        guard var row = inodeRows[id] else { return }
        (row.modified, row.changed) = (now, now)
        row.linkCount += links
        set(id, to: row)
    }

    package func addLinks(_ links: Int64, to id: InodeID) throws {
        guard var row = inodeRows[id] else { return }
        row.linkCount += links
        set(id, to: row)
    }

    // MARK: Attributes

    package func writeAttribute(_ name: [UInt8], _ value: [UInt8], of inode: InodeID) throws {
        set(\.attributes[inode], to: (attributes[inode] ?? [:]).merging([name: value]) { $1 })
    }

    package func deleteAttribute(_ name: [UInt8], of inode: InodeID) throws {
        set(\.attributes[inode], to: attributes[inode]?.filter { $0.key != name })
    }

    package func deleteUserAttributes(of inode: InodeID) throws {
        set(\.attributes[inode], to: attributes[inode]?.filter { !$0.key.starts(with: Array("user.".utf8)) })
    }

    package func copyAttributes(of inode: InodeID, to other: InodeID) throws {
        set(\.attributes[other], to: attributes[inode])
    }

    // MARK: Conflicts, deletions, notes

    private func insert(_ conflict: Conflict) {
        set(\.lastConflict, to: lastConflict + 1)
        set(\.conflictRows[lastConflict], to: conflict)
    }

    package func insertConflict(original: ItemID, copy: InodeID, _ reason: ConflictReason) throws {
        set(\.conflictRows, to: conflictRows.filter { $0.value.original != original || $0.value.copy != copy.rawValue })
        insert(Conflict(original: original, copy: copy.rawValue, moment: now, reason: reason))
    }

    package func moveConflicts(from old: InodeID, to new: InodeID) throws {
        set(
            \.conflictRows,
            to: conflictRows.mapValues { row in
                var row = row
                if row.copy == old.rawValue { row.copy = new.rawValue }
                return row
            })
    }

    package func forgetConflict(_ id: Int64) throws { set(\.conflictRows[id], to: nil) }

    package func delayDeletion(of item: ItemID, until original: ItemID) throws {
        insert(Conflict(original: original, copy: -item.rawValue, moment: now, reason: .bothChanged))
    }

    package func moveDelayedDeletions(from old: ItemID, to new: ItemID) throws {
        set(
            \.conflictRows,
            to: conflictRows.mapValues { row in
                var row = row
                if row.original == old, row.copy < 0 { row.original = new }
                return row
            })
    }

    package func forgetDelayedDeletions(for original: ItemID) throws {
        set(\.conflictRows, to: conflictRows.filter { $0.value.original != original || $0.value.copy >= 0 })
    }

    package func countVanished(_ items: Int, at moment: FileTime) throws {
        guard items > 0 || vanishedItems[moment] != nil else { return }
        set(\.vanishedItems[moment], to: max(0, (vanishedItems[moment] ?? 0) + items))
    }

    package func forgetVanished(_ moments: ClosedRange<FileTime>) throws {
        set(\.vanishedItems, to: vanishedItems.filter { !moments.contains($0.key) })
    }

    package func takeNote(_ key: String, _ value: String) throws { set(\.noteRows[key], to: value) }
    package func forgetNote(_ key: String) throws { set(\.noteRows[key], to: nil) }
}
