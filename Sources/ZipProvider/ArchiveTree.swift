import FileProvider

/// The archive as folders and documents: each place in it once, all of them below the top.
///
/// The same archive always gives the same tree, however its entries contradict each other: of two entries at one place
/// the later one counts, as in unzip(1); and a place with items in it is a folder, so that no link can be on the way to
/// a document.
///
/// A place has its own name and an index of its folder: a name of 4,095 bytes may be in 254 folders, and whole paths of
/// all of them would take a hundred times the size of the archive. Items are made on request.
struct ArchiveTree: Sendable {
    struct Node: Sendable {
        let item: Item
        /// The entry; nil for a folder that appears only in the names of other entries.
        let entry: ArchiveEntry?
    }

    /// Limits for what a small archive can claim.
    struct Bounds: Sendable {
        /// The most folders that appear only in the names of entries.
        var folders = 1_000_000
        /// In bytes, for the targets of all links.
        var targets = 64 << 20
    }

    private struct Place {
        let folder: Int32
        let name: Filename
        let identifier: PlaceIdentifier
        /// Nil: not shown.
        var letter: PlaceIdentifier.Letter?
        /// Index of the entry; -1: none.
        var entry: Int32 = -1
        /// A folder's children, the last one first; -1: no more.
        var firstChild: Int32 = -1
        var next: Int32 = -1
    }

    private struct Name: Hashable {
        let folder: Int32
        let name: Filename
    }

    private struct Digest: Hashable {
        let letter: PlaceIdentifier.Letter
        let digest: UInt64
    }

    private static let top: Int32 = 0

    private let stamp: ArchiveStamp
    private let bounds: Bounds
    private var entries: [ArchiveEntry] = []
    /// The topmost folder first.
    private var places = [
        Place(folder: Self.top, name: Filename(bytes: []), identifier: .top, letter: .folder)
    ]
    private var byName: [Name: Int32] = [:]
    /// Places whose identifiers do not hold their paths.
    private var byDigest: [Digest: Int32] = [:]
    private var targets: [Int32: [UInt8]] = [:]
    /// The number of folders that appear only in the names of entries.
    private var impliedFolders = 0
    /// The first entries that are not shown, with the reason; a line each.
    private(set) var omissions: [String] = []
    private(set) var omissionCount = 0
    private static let mostOmissions = 100

    /// - Parameters:
    ///   - target: reads the target of a link.
    init(
        entries: some Sequence<ArchiveEntry>, stamp: ArchiveStamp, bounds: Bounds = Bounds(),
        target: (ArchiveEntry) throws(FileProviderError) -> [UInt8]
    ) {
        self.stamp = stamp
        self.bounds = bounds
        for entry in entries {
            do throws(EntryPath.Refused) { try add(entry) } catch { omit(entry, error.reason) }
        }
        readTargets(target)
    }

    // MARK: Looking

    func node(_ identifier: ItemIdentifier) -> Node? {
        place(identifier).flatMap { place in
            item(place).map { Node(item: $0, entry: entry(of: place)) }
        }
    }

    /// Sorted by name.
    func items(in folder: ItemIdentifier) -> [Item] {
        guard let folder = place(folder) else { return [] }
        var found: [Int32] = []
        var child = places[Int(folder)].firstChild
        while child >= 0 {
            found.append(child)
            child = places[Int(child)].next
        }
        found.sort { places[Int($0)].name < places[Int($1)].name }
        return found.compactMap(item)
    }

    private func place(_ identifier: ItemIdentifier) -> Int32? {
        if identifier == .rootContainer { return Self.top }
        let found: Int32
        switch PlaceIdentifier.Parsed(identifier) {
        case nil: return nil
        case .digest(let letter, let digest):
            guard let place = byDigest[Digest(letter: letter, digest: digest)] else { return nil }
            found = place
        case .path(let letter, let names):
            var place = Self.top
            for name in names {
                guard let next = byName[Name(folder: place, name: name)] else { return nil }
                place = next
            }
            guard places[Int(place)].letter == letter else { return nil }
            found = place
        }
        // (An identifier may be written in two ways.)
        return self.identifier(found) == identifier ? found : nil
    }

    private func entry(of place: Int32) -> ArchiveEntry? {
        let entry = places[Int(place)].entry
        return entry < 0 ? nil : entries[Int(entry)]
    }

    private func identifier(_ place: Int32) -> ItemIdentifier? {
        guard let letter = places[Int(place)].letter else { return nil }
        return places[Int(place)].identifier.identifier(letter) {
            var names: [Filename] = []
            var place = place
            while place != Self.top {
                names.append(places[Int(place)].name)
                place = places[Int(place)].folder
            }
            return names.reversed()
        }
    }

    private func item(_ place: Int32) -> Item? {
        let here = places[Int(place)]
        guard let letter = here.letter, let identifier = identifier(place), let parent = self.identifier(here.folder)
        else { return nil }
        let kind: ItemKind =
            switch letter {
            case .folder: .folder
            case .document: .document
            case .link: .symbolicLink(target: targets[place] ?? [])
            }
        let entry = entry(of: place)
        return Item(
            identifier: identifier, parentIdentifier: parent, filename: here.name, kind: kind,
            size: kind.isDocument ? entry?.size ?? 0 : 0, contentModificationDate: entry?.modified ?? stamp.modified,
            posixPermissions: kind.isDocument || kind.isFolder ? entry?.permissions : nil,
            version: version(kind, entry))
    }

    /// A checksum of 32 bits does not distinguish all contents, so the archive's state is part of both versions.
    private func version(_ kind: ItemKind, _ entry: ArchiveEntry?) -> ItemVersion {
        let place = entry.map { "\($0.index)" } ?? "-"
        let contents = entry.map { "\($0.checksum)-\($0.size ?? 0)-\($0.modified.nanoseconds)" } ?? "-"
        return ItemVersion(
            content: ContentVersion(kind.isFolder ? "folder" : "\(contents)@\(stamp.text)"),
            metadata: MetadataVersion("\(place)@\(stamp.text)"))
    }

    // MARK: Making

    private mutating func omit(_ entry: ArchiveEntry, _ reason: String) {
        omissionCount += 1
        guard omissions.count < Self.mostOmissions else { return }
        omissions.append("\(entry.shownName): \(reason)")
    }

    private mutating func add(_ entry: ArchiveEntry) throws(EntryPath.Refused) {
        let names = try EntryPath(entry).names
        if entry.kind == .other { throw EntryPath.Refused("it is neither document, folder nor symbolic link") }
        if entry.size == nil { throw EntryPath.Refused("its stated size is larger than a file can be") }
        let folder = try makeFolders(names.dropLast())
        let name = names[names.count - 1]
        let number = Int32(clamping: entries.count)
        if entry.kind == .folder {
            let place = try makeFolder(name, in: folder)
            if places[Int(place)].entry < 0 { impliedFolders -= 1 }
            places[Int(place)].entry = number
        } else {
            let letter: PlaceIdentifier.Letter = entry.kind == .document ? .document : .link
            if let place = byName[Name(folder: folder, name: name)] {
                if places[Int(place)].letter == .folder { throw EntryPath.Refused("it has the name of a folder") }
                try become(letter, place)
                if let earlier = self.entry(of: place) { omit(earlier, "a later entry has the same name") }
                places[Int(place)].entry = number
            } else {
                places[Int(try make(name, in: folder, letter))].entry = number
            }
        }
        entries.append(entry)
    }

    /// The folder with this path; it and its parents are made where they are missing, all or none.
    private mutating func makeFolders(_ names: ArraySlice<Filename>) throws(EntryPath.Refused) -> Int32 {
        var folder = Self.top
        var rest = names
        while let name = rest.first, let next = byName[Name(folder: folder, name: name)],
            places[Int(next)].letter == .folder
        {
            folder = next
            rest = rest.dropFirst()
        }
        guard rest.count <= bounds.folders - impliedFolders else {
            throw EntryPath.Refused(
                "the archive has more than \(bounds.folders) folders without entries of their own"
            )
        }
        for name in rest { folder = try makeFolder(name, in: folder) }
        return folder
    }

    private mutating func makeFolder(_ name: Filename, in folder: Int32) throws(EntryPath.Refused) -> Int32 {
        let place: Int32
        if let there = byName[Name(folder: folder, name: name)] {
            if places[Int(there)].letter == .folder { return there }
            try become(.folder, there)
            if let earlier = entry(of: there) { omit(earlier, "it has the name of a folder") }
            places[Int(there)].entry = -1
            place = there
        } else {
            place = try make(name, in: folder, .folder)
        }
        impliedFolders += 1
        return place
    }

    private mutating func make(
        _ name: Filename, in folder: Int32, _ letter: PlaceIdentifier.Letter
    ) throws(EntryPath.Refused) -> Int32 {
        guard let number = Int32(exactly: places.count) else {
            throw EntryPath.Refused("the archive has more entries than can be shown")
        }
        var place = Place(
            folder: folder, name: name, identifier: places[Int(folder)].identifier.below(name), letter: letter)
        try note(place.identifier, letter, number)
        place.next = places[Int(folder)].firstChild
        places[Int(folder)].firstChild = number
        places.append(place)
        byName[Name(folder: folder, name: name)] = number
        return number
    }

    private mutating func become(_ letter: PlaceIdentifier.Letter, _ place: Int32) throws(EntryPath.Refused) {
        let (old, identifier) = (places[Int(place)].letter, places[Int(place)].identifier)
        if old == letter { return }
        try note(identifier, letter, place)
        if identifier.isDigest, let old { byDigest[Digest(letter: old, digest: identifier.digest)] = nil }
        places[Int(place)].letter = letter
    }

    private mutating func note(
        _ identifier: PlaceIdentifier, _ letter: PlaceIdentifier.Letter, _ place: Int32
    ) throws(EntryPath.Refused) {
        guard identifier.isDigest else { return }
        let digest = Digest(letter: letter, digest: identifier.digest)
        guard byDigest[digest] == nil else {
            throw EntryPath.Refused("its long name cannot be distinguished from another")
        }
        byDigest[digest] = place
    }

    private mutating func readTargets(_ target: (ArchiveEntry) throws(FileProviderError) -> [UInt8]) {
        var room = bounds.targets
        for (number, place) in places.enumerated() where place.letter == .link {
            guard let entry = entry(of: Int32(number)) else { continue }
            do throws(FileProviderError) {
                let bytes = try target(entry)
                room -= bytes.count
                if room < 0 {
                    throw FileProviderError(
                        .unsupported, "the targets of the archive's links have more than \(bounds.targets) bytes")
                }
                targets[Int32(number)] = bytes
            } catch {
                omit(entry, error.message)
                places[number].letter = nil
            }
        }
    }
}
