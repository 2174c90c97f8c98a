package import FileProvider
import Foundation

/// Items as rclone lists them.
extension RcloneProvider {
    func item(_ path: String, _ entry: RcloneEntry, _ traits: RcloneTraits) -> Item {
        let date = entry.ModTime.flatMap { RcloneDate.parse($0) } ?? RcloneDate.none
        guard !entry.IsDir else { return folderItem(path, traits.datesFolders ? date : RcloneDate.none) }
        return Item(
            identifier: RclonePath.identifier(path),
            parentIdentifier: RclonePath.identifier(RclonePath.folder(of: path)),
            filename: Filename(RclonePath.name(of: path)), kind: .document, size: entry.Size,
            contentModificationDate: date,
            version: ItemVersion(
                content: RcloneVersion.content(entry, traits.hash), metadata: RcloneVersion.metadata(date)))
    }

    func folderItem(_ path: String, _ date: FileTime = RcloneDate.none) -> Item {
        Item(
            identifier: RclonePath.identifier(path),
            parentIdentifier: RclonePath.identifier(RclonePath.folder(of: path)),
            filename: Filename(path.isEmpty ? "rclone" : RclonePath.name(of: path)), kind: .folder,
            contentModificationDate: date,
            version: ItemVersion(content: ContentVersion("folder"), metadata: RcloneVersion.metadata(date)))
    }

    package func providePlaceholder(for identifier: ItemIdentifier) async throws(FileProviderError) -> Item {
        let path = RclonePath.path(identifier)
        let traits = try await traits()
        if RclonePath.isFolder(identifier) {
            guard let entry = try await folder(path) else {
                if path.isEmpty {
                    throw FileProviderError(
                        .noSuchItem,
                        "\(client.describe(path)): is not there; make it with rclone mkdir, or check the path")
                }
                throw gone(path)
            }
            return item(path, entry, traits)
        }
        guard let item = try await document(path) else { throw gone(path) }
        return item
    }

    // MARK: Looks

    /// What is at a path; nil: nothing of this kind.
    private func look(_ path: String, filesOnly: Bool) async throws(FileProviderError) -> RcloneEntry? {
        let hash = try await traits().hash
        var parameters = try await self.parameters(path)
        parameters.opt =
            filesOnly
            ? RcloneParameters.Options(showHash: hash != nil, hashTypes: hash.map { [$0] }, filesOnly: true)
            : RcloneParameters.Options(dirsOnly: true)
        switch try await client.attempt("operations/stat", parameters, as: RcloneStat.self) {
        case .success(let answer):
            guard let entry = answer.item, entry.IsDir != filesOnly else { return nil }
            return entry
        case .failure(let refusal):
            if refusal.isAbsent || refusal.isOfOtherKind { return nil }
            throw refusal.failure(client.describe(path))
        }
    }

    func entry(_ path: String) async throws(FileProviderError) -> RcloneEntry? { try await look(path, filesOnly: true) }

    func folder(_ path: String) async throws(FileProviderError) -> RcloneEntry? {
        try await look(path, filesOnly: false)
    }

    /// As ``entry(_:)``; a document that a swap has moved aside is waited for.
    func settled(_ path: String) async throws(FileProviderError) -> RcloneEntry? {
        if let entry = try await entry(path) { return entry }
        let name = RclonePath.name(of: path)
        guard try await traits().swaps, !ReservedName.contains(name) else { return nil }
        let end = ContinuousClock.now + Orphans.settling
        while ContinuousClock.now < end, try await !asides(of: path).isEmpty {
            if let entry = try await entry(path) { return entry }
            do { try await Task.sleep(for: .milliseconds(100)) } catch {
                throw FileProviderError(.cancelled, "\(client.describe(path)): given up")
            }
        }
        return try await entry(path)
    }

    func document(_ path: String) async throws(FileProviderError) -> Item? {
        guard let entry = try await settled(path), entry.Size >= 0 else { return nil }
        return item(path, entry, try await traits())
    }

    /// The entries of a folder; nil: there is no such folder.
    ///
    /// - Parameter isQuick: names and kinds are enough.
    func list(_ path: String, isQuick: Bool = false) async throws(FileProviderError) -> [RcloneEntry]? {
        let hash = isQuick ? nil : try await traits().hash
        var parameters = try await self.parameters(path)
        parameters.opt = RcloneParameters.Options(
            noModTime: isQuick ? true : nil, showHash: hash != nil, hashTypes: hash.map { [$0] })
        let entries: [RcloneEntry]
        switch try await client.attempt("operations/list", parameters, as: RcloneListing.self) {
        case .success(let listing): entries = listing.list ?? []
        case .failure(let refusal):
            if refusal.isAbsent || refusal.isOfOtherKind { return nil }
            throw refusal.failure(client.describe(path))
        }
        // Where a folder is only the beginning of names, one that does not exist has an empty listing; elsewhere a
        // document may have one.
        guard entries.isEmpty, !path.isEmpty else { return entries }
        return try await folder(path) == nil ? nil : []
    }

    // MARK: Listing

    package func enumerateItems(
        in folder: ItemIdentifier, startingAt page: Page?
    ) async throws(FileProviderError) -> ItemPage {
        let path = RclonePath.path(folder)
        guard RclonePath.isFolder(folder), let entries = try await list(path) else { throw gone(path) }
        let traits = try await traits()
        var items: [Item] = []
        var leftOut: [LeftOutItem] = []
        var names: Set<Filename> = []
        var documents: Set<Filename> = []
        var asides: [(name: String, original: String, entry: RcloneEntry)] = []
        for entry in entries {
            if ReservedName.contains(entry.Name) {
                if let original = ReservedName.original(ofAside: entry.Name) {
                    asides.append((entry.Name, original, entry))
                }
                continue
            }
            let name = Filename(entry.Name)
            if let reason = Self.problem(entry, name, path, names) {
                leftOut.append(LeftOutItem(filename: name, reason: reason))
                continue
            }
            names.insert(name)
            if !entry.IsDir { documents.insert(name) }
            items.append(item(path + entry.Name + (entry.IsDir ? "/" : ""), entry, traits))
        }
        for (aside, original, entry) in asides {
            if documents.contains(Filename(original)) { await clear(path, aside, original) }
            if names.contains(Filename(original)) { continue }
            // Until it has its name again, it is shown as it was: it is not gone.
            _ = await restore(path, aside, original)
            names.insert(Filename(original))
            items.append(item(path + original, entry, traits))
        }
        return ItemPage(items: items, leftOut: leftOut)
    }

    /// Why an entry cannot be shown; nil: it can.
    private static func problem(
        _ entry: RcloneEntry, _ name: Filename, _ folder: String, _ names: Set<Filename>
    ) -> String? {
        if let problem = name.problem { return problem }
        if entry.Name.utf8.contains(UInt8(ascii: "\n")) {
            return "its name has a line end, with which rclone reads nothing"
        }
        if names.contains(name) { return "another item has the same name; rename one of them in the store" }
        if !entry.IsDir && entry.Size < 0 { return "the store does not say its size" }
        if folder.utf8.count + entry.Name.utf8.count + 1 > RclonePath.longest {
            return "its path has more than \(RclonePath.longest) bytes"
        }
        return nil
    }

    // MARK: Room

    /// As the remote reports it.
    package func quota() async throws(FileProviderError) -> StoreQuota {
        guard try await traits().reports else {
            throw FileProviderError(.unsupported, "\(client.describe("")): this kind of store does not report its room")
        }
        var parameters = try await self.parameters("")
        parameters.remote = nil
        let space = try await client.call("operations/about", parameters, on: "", as: RcloneSpace.self)
        let total = space.total.flatMap { $0 > 0 ? $0 : nil }
        guard
            let used = space.used
                ?? total.flatMap({ total in space.free.map { total.subtractingReportingOverflow($0).partialValue } })
        else {
            throw FileProviderError(.unsupported, "\(client.describe("")): this store does not report its room")
        }
        return StoreQuota(used: max(0, used), total: total)
    }
}

extension RcloneProvider: QuotaReporting {}

extension RcloneRefusal {
    /// Whether a document is where a folder was asked for, or the other way round.
    var isOfOtherKind: Bool { ends(["not a directory", "is a directory not a file"]) }
}
