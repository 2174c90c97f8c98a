import FileProvider
import HTTPTransport
import Logging

/// Finds out which items the entries of a folder are, on a server without identifiers.
///
/// A known name is the known item. A new name is a new item, unless an item of the same version and size is missing
/// from this or another folder: then another client has renamed that item. If two items fit, neither is taken.
struct Recognition {
    let provider: WebDAVProvider
    let folder: ItemIdentifier
    private var places: Places { provider.places }
    /// Beyond so many new documents none is looked for in other folders; nor beyond so many new folders within the
    /// folder.
    static let mostSought = 1_000
    private static let mostFolders = 16

    /// Identifies all entries of the folder that were not identified before.
    ///
    /// - Parameters:
    ///   - known: the catalog's items of the folder, except those seen unchanged.
    ///   - present: items known to be there that were not in this folder before.
    func identify(
        _ entries: [Listing.Entry], _ known: [KnownItem], present: Set<ItemIdentifier>
    ) async throws(FileProviderError) -> [Filename: ItemIdentifier] {
        let byName = Dictionary(known.map { ($0.filename, $0) }) { first, _ in first }
        var identifiers = identified(entries) { byName[$0] }
        // (A long listing of an unknown folder has none of this.)
        if !known.isEmpty { exchange(&identifiers, entries, known) }
        var new = identifiers.isEmpty ? entries : entries.filter { identifiers[$0.name] == nil }
        if !new.isEmpty {
            let present = Set(identifiers.values)
            let missing = known.filter { isMissing($0, present) }
            if !missing.isEmpty {
                for (name, identifier) in renamed(new, missing) { identifiers[name] = identifier }
                let others = new.filter { identifiers[$0.name] == nil }
                for (name, identifier) in try await renamedFolders(others, missing) { identifiers[name] = identifier }
                new.removeAll { identifiers[$0.name] != nil }
            }
            let moved = try await movedHere(new, present: present.union(identifiers.values))
            if !moved.isEmpty {
                identifiers.merge(moved) { $1 }
                new.removeAll { identifiers[$0.name] != nil }
            }
            for (entry, identifier) in try await fresh(new) { identifiers[entry.name] = identifier }
        }
        return identifiers
    }

    /// Identifies one entry of possibly several: only its name counts.
    func identifyAlone(_ entry: Listing.Entry) async throws(FileProviderError) -> ItemIdentifier {
        let known = try await provider.catalog?.knownItem(named: entry.name, in: folder)
        if let identifier = identified([entry], { _ in known })[entry.name] { return identifier }
        guard let identifier = try await fresh([entry]).first?.identifier else { throw provider.gone(folder) }
        return identifier
    }

    /// Identifies entries by name and kind.
    func identified(_ entries: [Listing.Entry], _ known: (Filename) -> KnownItem?) -> [Filename: ItemIdentifier] {
        let held = places.holders(in: folder, of: entries.map(\.name))
        var identifiers: [Filename: ItemIdentifier] = [:]
        for entry in entries {
            let item = known(entry.name)
            let isOfKind = item?.isFolder == entry.resource.isFolder
            // This provider's own observations and changes are newer than the catalog.
            if let identifier = held[entry.name], item?.identifier != identifier || isOfKind {
                identifiers[entry.name] = identifier
            } else if let item, isOfKind, places.place(of: item.identifier) == nil {
                identifiers[entry.name] = item.identifier
            }
        }
        return identifiers
    }

    // MARK: Renamed by another client

    struct Likeness: Hashable {
        var version: ContentVersion
        var size: Int64
    }

    /// Nil: other documents may be like it.
    func likeness(_ entry: Listing.Entry) -> Likeness? {
        // Many empty documents are alike, as are documents whose versions are only a date.
        guard !entry.resource.isFolder, entry.resource.size > 0, case .tag = entry.resource.validator else {
            return nil
        }
        return Likeness(version: entry.resource.validator.version, size: entry.resource.size)
    }

    /// Nil: other documents may be like it.
    static func likeness(of item: KnownItem) -> Likeness? {
        guard !item.isFolder, item.size > 0, case .tag = Validator(item.contentVersion) else { return nil }
        return Likeness(version: item.contentVersion, size: item.size)
    }

    /// Recognises renames within the folder.
    private func renamed(_ new: [Listing.Entry], _ missing: [KnownItem]) -> [Filename: ItemIdentifier] {
        let lost = Dictionary(grouping: missing.filter { !$0.isFolder }) {
            Likeness(version: $0.contentVersion, size: $0.size)
        }
        var identifiers: [Filename: ItemIdentifier] = [:]
        for (like, entries) in Dictionary(grouping: new.filter { likeness($0) != nil }, by: { likeness($0)! }) {
            guard entries.count == 1, let items = lost[like], items.count == 1 else { continue }
            identifiers[entries[0].name] = items[0].identifier
        }
        return identifiers
    }

    /// Known names that now belong to other documents: two documents that swapped names, or one that was renamed over
    /// another.
    ///
    /// A program that saves by first renaming the old document to a backup means the name, which so keeps its document.
    private func exchange(
        _ identifiers: inout [Filename: ItemIdentifier], _ entries: [Listing.Entry], _ known: [KnownItem]
    ) {
        let present = Set(identifiers.values)
        let items = Dictionary(known.map { ($0.identifier, $0) }) { first, _ in first }
        func likeness(of item: KnownItem) -> Likeness { Likeness(version: item.contentVersion, size: item.size) }
        let changed = entries.filter { entry in
            identifiers[entry.name].flatMap { items[$0] }.map { isChanged(entry, $0) } ?? false
        }
        guard !changed.isEmpty else { return }
        let names = Dictionary(changed.map { (identifiers[$0.name]!, $0.name) }) { first, _ in first }
        let lost = Dictionary(
            grouping: known.filter {
                !$0.isFolder && (names[$0.identifier] != nil || isMissing($0, present))
            }, by: likeness(of:))
        var found: [Filename: ItemIdentifier] = [:]
        for (like, alike) in Dictionary(grouping: changed, by: { self.likeness($0)! }) {
            if alike.count == 1, let items = lost[like], items.count == 1 { found[alike[0].name] = items[0].identifier }
        }
        // A document leaves its name only for another document that takes it.
        while let homeless = found.first(where: { names[$0.value].map { found[$0] == nil } ?? false }) {
            found[homeless.key] = nil
        }
        identifiers.merge(found) { $1 }
    }

    /// The entry has the name of an item, but other contents.
    func isChanged(_ entry: Listing.Entry, _ item: KnownItem) -> Bool {
        guard !item.isFolder, let new = likeness(entry) else { return false }
        return Likeness(version: item.contentVersion, size: item.size) != new
    }

    /// In the catalog's folder, but not seen, and not moved away since.
    private func isMissing(_ item: KnownItem, _ present: Set<ItemIdentifier>) -> Bool {
        !present.contains(item.identifier)
            && places.place(of: item.identifier).map { $0.parent == folder } ?? true
    }

    /// Recognises a folder whose documents are those of a missing folder.
    private func renamedFolders(
        _ new: [Listing.Entry], _ missing: [KnownItem]
    ) async throws(FileProviderError) -> [Filename: ItemIdentifier] {
        let folders = new.filter(\.resource.isFolder)
        var lost = missing.filter(\.isFolder)
        guard !lost.isEmpty, folders.count <= Self.mostFolders, lost.count <= Self.mostFolders else { return [:] }
        var identifiers: [Filename: ItemIdentifier] = [:]
        let parent = try await provider.location(of: folder, isFolder: true)
        for entry in folders {
            guard let listing = try await provider.read(parent.appending(entry.name.bytes, isFolder: true)) else {
                continue
            }
            let documents = Dictionary(
                listing.entries.compactMap { entry in likeness(entry).map { (entry.name, $0) } }
            ) { first, _ in first }
            guard !documents.isEmpty else { continue }
            var matches: [KnownItem] = []
            for item in lost {
                let children = try await provider.catalog?.knownItems(in: item.identifier) ?? []
                let before = Dictionary(
                    children.filter { !$0.isFolder && $0.size > 0 }.map {
                        ($0.filename, Likeness(version: $0.contentVersion, size: $0.size))
                    }
                ) { first, _ in first }
                if !before.isEmpty, before == documents { matches.append(item) }
            }
            guard matches.count == 1 else { continue }
            identifiers[entry.name] = matches[0].identifier
            lost.removeAll { $0.identifier == matches[0].identifier }
        }
        return identifiers
    }

    /// Recognises documents from another folder.
    private func movedHere(
        _ new: [Listing.Entry], present: Set<ItemIdentifier>
    ) async throws(FileProviderError) -> [Filename: ItemIdentifier] {
        let sought = Array(new.lazy.filter { likeness($0) != nil }.prefix(Self.mostSought + 1))
        guard !sought.isEmpty, sought.count <= Self.mostSought, let catalog = provider.catalog else { return [:] }
        let versions = Set(sought.map { $0.resource.validator.version })
        let items = try await catalog.knownDocuments(having: versions).filter {
            $0.parentIdentifier != folder && !present.contains($0.identifier)
        }
        let known = Dictionary(grouping: items) { Likeness(version: $0.contentVersion, size: $0.size) }
        var identifiers: [Filename: ItemIdentifier] = [:]
        for (like, entries) in Dictionary(grouping: sought, by: { likeness($0)! }) {
            guard entries.count == 1, let items = known[like], items.count == 1 else { continue }
            // It may be a copy: then the original still exists.
            let old = try await provider.location(of: items[0].identifier)
            if try await provider.client.propfind(old) == nil { identifiers[entries[0].name] = items[0].identifier }
        }
        return identifiers
    }

    // MARK: New items

    func fresh(_ new: [Listing.Entry]) async throws(FileProviderError) -> [ListingRecognition.Identified] {
        var result: [ListingRecognition.Identified] = []
        var open = new
        var number = 1
        while !open.isEmpty, number < 1_000 {
            let candidates = open.map { ($0, PathIdentifier.make(in: folder, $0.name, number: number)) }
            let known = try await provider.catalog?.knownItems(candidates.map(\.1)) ?? []
            let taken = Dictionary(known.map { ($0.identifier, $0) }) { first, _ in first }
            var next: [Listing.Entry] = []
            for (entry, identifier) in candidates {
                // That item moved elsewhere, or is of another kind.
                let place = places.place(of: identifier)
                let isElsewhere = place.map { $0 != Place(parent: folder, name: entry.name) } ?? false
                if isElsewhere || taken[identifier].map({ !isItself(entry, $0) }) ?? false {
                    next.append(entry)
                } else {
                    result.append((entry, identifier))
                }
            }
            open = next
            number += 1
        }
        return result
    }

    /// The catalog got it since the listing began: an earlier part of the listing had the same name.
    private func isItself(_ entry: Listing.Entry, _ item: KnownItem) -> Bool {
        item.parentIdentifier == folder && item.filename == entry.name && item.isFolder == entry.resource.isFolder
    }
}
