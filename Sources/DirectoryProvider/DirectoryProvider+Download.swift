public import FileProvider
import Glibc

/// Downloads.
extension DirectoryProvider {
    /// The first piece is small, as a program waits for it.
    private static let firstPiece = 64 << 10
    private static let largestPiece = 1 << 20

    /// A download ends at the first piece that may mix two versions of a document that is being changed in place; a
    /// document that is replaced by a rename is read to its end, as the open file does not change.
    public func startProvidingItem(
        _ identifier: ItemIdentifier, version: ContentVersion, range: Range<Int64>,
        into sink: any ContentSink
    ) async throws(FileProviderError) {
        let open = { () async throws(FileProviderError) in
            try await self.withEntry(identifier) { entry throws(FileProviderError) in
                try OpenDocument(entry, version: version)
            }
        }
        var document = try await open()
        var attempts = 0
        var offset = range.lowerBound
        var count = Self.firstPiece
        var hasher = range.lowerBound == 0 ? ContentHasher(size: document.status.size) : nil
        while offset < range.upperBound {
            try checkCancellation()
            let (start, wanted) = (offset, min(count, Int(clamping: range.upperBound - offset)))
            let bytes: [UInt8]
            do throws(FileProviderError) {
                bytes = try await blocking { [document] () throws(FileProviderError) in
                    try document.read(at: start, upTo: wanted)
                }
            } catch {
                guard error.code == .versionMismatch else { throw error }
                // The item at its present place, as it may just have been renamed; or that it is gone.
                let item = try await providePlaceholder(for: identifier)
                attempts += 1
                guard item.version.content == version, attempts < 16 else {
                    throw FileProviderError(.versionMismatch, error.message, item: item)
                }
                document = try await open()
                continue
            }
            attempts = 0
            try await sink.write(bytes, at: start)
            hasher?.take(bytes)
            offset += Int64(bytes.count)
            count = min(count * 4, Self.largestPiece)
        }
        guard var hasher else { return }
        // Programs that begin at the end of a document (an archive) already have the rest: it is read once more.
        while offset < document.status.size, !Task.isCancelled {
            let (start, wanted) = (offset, min(Self.largestPiece, Int(document.status.size - offset)))
            let bytes = try? await blocking { [document] () throws(FileProviderError) in
                try document.read(at: start, upTo: wanted)
            }
            guard let bytes else { return }
            hasher.take(bytes)
            offset += Int64(bytes.count)
        }
        if let digest = hasher.digest { store.sightings.note(digest, of: identifier, at: version) }
    }
}

/// A document open for reading at one version.
private struct OpenDocument: Sendable {
    let descriptor: Descriptor
    let status: FileStatus
    let usesInodes: Bool
    let path: String

    init(_ entry: Entry, version: ContentVersion) throws(FileProviderError) {
        guard entry.status.kind == .document else {
            throw FileProviderError(.unsupported, "\(entry.path): not a document, so it has no contents")
        }
        path = entry.path
        usesInodes = entry.usesInodes
        status = entry.status
        guard entry.contentVersion == version else {
            throw FileProviderError(
                .versionMismatch, "\(path): was changed by another program", item: entry.item)
        }
        descriptor = try entry.folder.open(entry.name, O_RDONLY)
        try checkVersion()
    }

    /// A program that sets the date back leaves another change time. So does a rename, after which the caller looks
    /// again. (A replaced file loses its name, which also changes its change time.)
    private func checkVersion() throws(FileProviderError) {
        let now = try naming(path) { () throws(SystemError) in try descriptor.status() }
        let isTouched = usesInodes && now.links > 0 && now.changed != status.changed
        guard now.isUnchanged(since: status, usesInodes: usesInodes), !isTouched else {
            throw FileProviderError(.versionMismatch, "\(path): was changed while it was read")
        }
    }

    func read(at offset: Int64, upTo count: Int) throws(FileProviderError) -> [UInt8] {
        let bytes = try naming(path) { () throws(SystemError) in
            try descriptor.read(at: offset, upTo: count)
        }
        // After the read, and before any other task sees the bytes.
        try checkVersion()
        guard bytes.count == count else {
            throw FileProviderError(.cannotSynchronize, "\(path): ends before byte \(offset + Int64(count))")
        }
        return bytes
    }
}
