import FileProvider
import Foundation

/// One document on its way into the store, from a file of this machine.
struct RcloneUpload: Sendable {
    let provider: RcloneProvider
    let path: String
    private(set) var parcel: Spool.Parcel

    init(provider: RcloneProvider, path: String, parcel: Spool.Parcel) {
        self.provider = provider
        self.path = path
        self.parcel = parcel
    }

    private var client: RcloneClient { provider.client }
    private var folder: String { RclonePath.folder(of: path) }
    private var name: String { RclonePath.name(of: path) }
    private var draft: String { folder + ReservedName.draft(of: name, provider.token) }

    /// The number of times that a swap is begun anew, because another mount has undone it.
    private static let attempts = 3
    /// In steps of what the remote tells apart: how far a document's date may be ahead because of ours.
    private static let longestChain = 1_000

    // MARK: A new document

    /// - Throws: ``FileProviderError/Code/filenameCollision`` when another one has come under this name.
    func create() async throws(FileProviderError) -> Item {
        let traits = try await provider.traits()
        if traits.swaps, ReservedName.canAccompany(name) {
            try await sendDraft(traits)
            return try await unhurried { () async throws(FileProviderError) -> Item in
                guard try await self.rename(draft, path) else {
                    _ = try? await provider.delete(draft)
                    throw try await taken()
                }
                return try await self.arrived(traits, throwing: provider.collision)
            }
        }
        guard try await send(to: path, .keeping) else { throw try await taken() }
        return try await arrived(traits, throwing: provider.collision)
    }

    private func taken() async throws(FileProviderError) -> FileProviderError {
        if let item = try await provider.document(path) { return provider.collision(item) }
        return FileProviderError(.busy, "\(client.describe(path)): another program is changing it")
    }

    // MARK: Another version

    /// - Parameter version: the one to replace.
    /// - Throws: ``FileProviderError/Code/versionMismatch`` when there is another one, which stays as it is.
    func replace(_ version: ContentVersion) async throws(FileProviderError) -> Item {
        let traits = try await provider.traits()
        let before = try await provider.expect(path, version)
        let redated = try await distinct(from: before, traits)
        if let redated { return try await redated.replace(version) }
        guard traits.swaps, ReservedName.canAccompany(name) else {
            try await send(to: path, .replacing)
            var item = try await arrived(traits, throwing: provider.mismatch)
            // The store gives dates of its own, in seconds: another second, another version.
            for _ in 0..<Self.attempts where item.version.content == version && traits.precision == nil {
                try await pause(.milliseconds(1_050))
                try await send(to: path, .replacing)
                item = try await arrived(traits, throwing: provider.mismatch)
            }
            return item
        }
        try await sendDraft(traits)
        provider.orphans.begin(path)
        defer { provider.orphans.end(path) }
        return try await unhurried { () async throws(FileProviderError) -> Item in
            do throws(FileProviderError) { return try await self.swap(version, traits) } catch {
                _ = try? await provider.delete(draft)
                throw error
            }
        }
    }

    /// Where only size and date tell versions apart, other contents must not have the date of those they replace: they
    /// get the next one that the remote tells from it. Nil: they have another one.
    private func distinct(
        from before: Item, _ traits: RcloneTraits
    ) async throws(FileProviderError) -> RcloneUpload? {
        guard let precision = traits.precision, before.size == parcel.size,
            RcloneVersion.isDated(before.version.content)
        else { return nil }
        let date = before.contentModificationDate
        let lead = date.wideNanoseconds - parcel.modified.wideNanoseconds
        // (Also that of an earlier version: the document may have been given such a date before.)
        let chain = Int128(Self.longestChain) * Int128(max(precision, 1))
        guard traits.areSame(date, parcel.modified) || (0..<chain).contains(lead) else { return nil }
        var other = self
        other.parcel = try await provider.spool.redate(
            parcel, to: FileTime(seconds: date.seconds, nanoseconds: date.subsecond + 2 * max(precision, 1)))
        return other
    }

    private func pause(_ duration: Duration) async throws(FileProviderError) {
        do { try await Task.sleep(for: duration) } catch {
            throw FileProviderError(.cancelled, "\(client.describe(path)): given up")
        }
    }

    /// Moves the old version aside, looks at it there, where nobody else changes it, and only then gives its name to
    /// the draft. Each rename leaves what has the new name alone.
    private func swap(_ version: ContentVersion, _ traits: RcloneTraits) async throws(FileProviderError) -> Item {
        for _ in 0..<Self.attempts {
            _ = try await provider.expect(path, version)
            let token = String(String(UInt64.random(in: 1 << 60 ... .max), radix: 16).prefix(8))
            let aside = folder + ReservedName.aside(of: name, token)
            do throws(FileProviderError) {
                guard try await rename(path, aside) else { continue }
            } catch {
                // Another client's swap was quicker: the next look waits for its end.
                guard try await provider.entry(path) == nil else { throw error }
                continue
            }
            let isPlaced: Bool
            do throws(FileProviderError) {
                let old = try await provider.document(aside)
                guard let old, old.version.content == version else {
                    // Somebody has changed it since the look: that version gets its name back, or, if another one has
                    // that already, a name of its own.
                    if try await !rename(aside, path) {
                        _ = try await rename(aside, folder + ReservedName.saved(name, token))
                    }
                    if let item = try await provider.document(path) { throw provider.mismatch(item) }
                    throw provider.gone(path)
                }
                isPlaced = try await rename(draft, path)
            } catch {
                try? await putBack(aside)
                throw error
            }
            if isPlaced {
                let item = try await arrived(traits, throwing: provider.mismatch)
                _ = try? await provider.delete(aside)
                return item
            }
            // Something has come under the name meanwhile: a version of somebody else's, or the old one, which
            // another mount has put back.
            let item = try await provider.document(path)
            if let item, item.version.content != version {
                _ = try? await provider.delete(aside)
                throw provider.mismatch(item)
            }
        }
        throw FileProviderError(.busy, "\(client.describe(path)): another program is changing it")
    }

    private func putBack(_ aside: String) async throws(FileProviderError) { _ = try await rename(aside, path) }

    // MARK: Steps

    private func sendDraft(_ traits: RcloneTraits) async throws(FileProviderError) {
        var flags = RcloneParameters.Flags.replacing
        flags.Inplace = true
        do throws(FileProviderError) {
            try await send(to: draft, flags)
            guard let entry = try await provider.entry(draft), isSent(entry, traits) else {
                throw FileProviderError(
                    .cannotSynchronize, "\(client.describe(path)): did not arrive as it was sent; it is sent again")
            }
        } catch {
            // (Also when this task was cancelled.)
            let task = Task<Void, Never> { _ = try? await provider.delete(draft) }
            await task.value
            throw error
        }
    }

    /// - Returns: false when there was something under the name, which was left alone.
    @discardableResult
    func send(to target: String, _ flags: RcloneParameters.Flags) async throws(FileProviderError) -> Bool {
        var parameters = RcloneParameters()
        parameters.srcFs = parcel.folder
        parameters.srcRemote = parcel.name
        parameters.dstFs = client.fs
        parameters.dstRemote = target
        parameters._config = flags
        return try await provider.counted("operations/copyfile", parameters, on: target)
    }

    /// Renames a document, unless something has the other name.
    private func rename(_ from: String, _ to: String) async throws(FileProviderError) -> Bool {
        try await provider.rename(from, to)
    }

    /// The document after it was sent.
    private func arrived(
        _ traits: RcloneTraits, throwing failure: (Item) -> FileProviderError
    ) async throws(FileProviderError) -> Item {
        guard let entry = try await provider.settled(path) else {
            throw FileProviderError(.cannotSynchronize, "\(client.describe(path)): was removed while it was sent")
        }
        let item = provider.item(path, entry, traits)
        guard isSent(entry, traits) else { throw failure(item) }
        return item
    }

    /// Whether this is what was sent, as far as the remote tells.
    private func isSent(_ entry: RcloneEntry, _ traits: RcloneTraits) -> Bool {
        guard entry.Size == parcel.size else { return false }
        if let hash = traits.hash, let sent = parcel.hash, let value = entry.Hashes?[hash], !value.isEmpty {
            return value.lowercased() == sent
        }
        guard let date = entry.ModTime.flatMap({ RcloneDate.parse($0) }) else { return true }
        return traits.areSame(date, parcel.modified)
    }

    /// Runs to its end even when this task is cancelled: its steps belong together.
    private func unhurried(
        _ body: @escaping @Sendable () async throws(FileProviderError) -> Item
    ) async throws(FileProviderError) -> Item {
        let task = Task<Result<Item, FileProviderError>, Never> {
            do throws(FileProviderError) { return .success(try await body()) } catch { return .failure(error) }
        }
        return try await task.value.get()
    }
}
