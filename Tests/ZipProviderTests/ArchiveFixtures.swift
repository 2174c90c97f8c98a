import FileProvider
import FileProviderTesting
import MountHarness
import Testing

@testable import hydrant_provider_zip

/// Archives that Python makes, as a test wants them.
struct ArchiveFixtures {
    let sandbox: MountedStore

    func path(_ name: String) -> String { "\(sandbox.scratch)/\(name)" }

    /// Runs a program that makes archives in the current folder. Besides `zipfile` it has:
    ///
    /// - `make(name, *entries)`: an archive of pairs of a name and bytes, or of a `ZipInfo` and bytes;
    /// - `info(name, mode, …)`: a `ZipInfo` with a mode of Unix; `packed=False` stores it as it is;
    /// - `patch(archive, old, new)`: replaces bytes everywhere, which must be there;
    /// - `central(archive, name, offset, bytes)`: changes an entry's record in the table of contents.
    func python(_ program: String) throws { try sandbox.python(Self.prelude + program, limit: 60) }

    private static let prelude = #"""
        import zipfile, struct, random
        os.chdir(SCRATCH)
        def info(name, mode=0o100644, date=(2020, 1, 2, 3, 4, 6), packed=True, extra=b""):
            made = zipfile.ZipInfo(name, date)
            made.create_system, made.external_attr, made.extra = 3, mode << 16, extra
            made.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            return made
        def make(archive, *entries):
            import warnings
            warnings.simplefilter("ignore")
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
                for name, data in entries: file.writestr(name, data)
        def patch(archive, old, new):
            data = read(archive)
            assert old in data and len(old) == len(new)
            write(archive, data.replace(old, new))
        def central(archive, name, offset, new):
            data = bytearray(read(archive))
            at = data.rindex(name) - 46
            assert data[at:at + 4] == b"PK\x01\x02"
            data[at + offset:at + offset + len(new)] = new
            write(archive, data)
        def noise(count): return random.Random(count).randbytes(count)

        """#

    /// Opens it as the program does.
    func provider(_ name: String) throws -> ZipProvider {
        let path = path(name)
        return try blocking { try await ZipProvider(path: path, pollInterval: .milliseconds(50)) }
    }

    /// Everything in it: paths, with a slash behind those of folders.
    func tree(_ provider: ZipProvider) throws -> [String: Item] {
        try blocking {
            var found: [String: Item] = [:]
            var folders = [(ItemIdentifier.rootContainer, "")]
            while let (folder, prefix) = folders.popLast() {
                for item in try await provider.enumerateItems(in: folder, startingAt: nil).items {
                    let path = prefix + item.filename.string + (item.kind.isFolder ? "/" : "")
                    #expect(found.updateValue(item, forKey: path) == nil && item.parentIdentifier == folder)
                    #expect(try await provider.providePlaceholder(for: item.identifier) == item)
                    if item.kind.isFolder { folders.append((item.identifier, path)) }
                }
            }
            return found
        }
    }

    /// A download as Hydrant makes it; what has arrived is nil unless it is everything.
    func download(_ provider: ZipProvider, _ item: Item, _ range: Range<Int64>? = nil) throws -> [UInt8]? {
        let sink = CollectingSink(range: range ?? 0..<item.size)
        try download(provider, item, into: sink)
        return sink.bytes
    }

    private func download(_ provider: ZipProvider, _ item: Item, into sink: CollectingSink) throws {
        try blocking {
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: sink.range, into: sink)
        }
        #expect(!sink.hasSurplus)
    }

    /// The error that the download of a whole document ends with. Its last bytes may not have come: with them the
    /// document would seem to be here.
    func failure(_ provider: ZipProvider, _ item: Item) -> FileProviderError? {
        let sink = CollectingSink(range: 0..<item.size)
        do {
            try download(provider, item, into: sink)
            return nil
        } catch {
            #expect(sink.bytes == nil && !sink.hasSurplus)
            return error as? FileProviderError
        }
    }
}

/// A folder for archives, which goes at the end; nothing is mounted.
func withArchives(_ body: @escaping @Sendable (ArchiveFixtures) throws -> Void) async throws {
    try await withSandbox { try body(ArchiveFixtures(sandbox: $0)) }
}
