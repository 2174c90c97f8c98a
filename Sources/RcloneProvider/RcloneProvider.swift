package import FileProvider
import Foundation
package import HTTPTransport
package import Logging
import Surroundings
import Synchronization
import Waiting

/// A remote of rclone's, or a folder of one, through an `rclone rcd` of its own.
///
/// rclone has no conditions for changes: a document is looked at before it is replaced, and afterwards. Where the
/// remote can rename (``RcloneTraits/swaps``), the version to be replaced is first moved aside and looked at there, so
/// that no other version is lost.
///
/// The initializer starts nothing, so that a domain can be mounted offline.
package final class RcloneProvider: Invalidatable {
    let client: RcloneClient
    let logger: Logger
    let spool: Spool
    /// Names that are being swapped by this mount, and when others were first seen without their document.
    let orphans = Orphans()
    /// One change of a path at a time.
    let turns = AsyncLocks<String>()
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    private let known = Mutex<RcloneTraits?>(nil)
    private let sender = Mutex(String(UInt64.random(in: .min ... .max), radix: 16))

    /// - Parameters:
    ///   - cache: a folder on a disk, for documents that are being sent; made if it is not there.
    ///   - password: the password of an encrypted configuration; nil: none is stored. May wait for a person.
    /// - Throws: when no folder can be made for rclone's socket.
    package init(
        address: RcloneAddress, program: RcloneProgram, cache: String, logger: Logger,
        password: @escaping @Sendable () async throws -> Secret? = { nil }
    ) throws(FileProviderError) {
        self.logger = logger
        spool = Spool(cache)
        client = try RcloneClient(address, program: program, logger: logger, password: password)
    }

    deinit { client.server.stop() }

    package var providerIdentifier: String { "hydrant.rclone" }

    package func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        self.domain.withLock { $0 = domain }
        // Uploads that are done again after a crash use the names of the first attempt.
        let mount = StableHash("\(Machine.identity) \(domain.documentStorageURL.path)".utf8).text
        sender.withLock { $0 = mount }
        // What rclone knows without the network: its version, and whether it has the remote.
        try await client.wake()
    }

    package func invalidate() async {
        await client.shutdown()
        spool.remove()
    }

    /// The process that runs at present, for tests.
    package var rclone: Int32? { client.server.pid }

    var catalog: (any FileProviderDomain)? { domain.withLock { $0 } }

    /// Of this mount: 8 characters.
    var token: String {
        let text = sender.withLock { $0 }
        return String(repeating: "0", count: max(0, 8 - text.count)) + text.suffix(8)
    }

    // MARK: What the remote can do

    func traits() async throws(FileProviderError) -> RcloneTraits {
        if let known = known.withLock({ $0 }) { return known }
        var information = try await information(client.fs)
        var traits = RcloneTraits(information)
        if !traits.hasEmptyFolders {
            // S3, Google Cloud Storage and Azure show empty folders when they are asked to.
            let other = client.address.adding("directory_markers=true")
            information = try await self.information(other)
            if information.Features.CanHaveEmptyDirectories ?? false {
                traits = RcloneTraits(information)
                traits.losesEmptyFolders = true
                client.fs = other
            }
        }
        known.withLock { $0 = traits }
        return traits
    }

    private func information(_ fs: String) async throws(FileProviderError) -> RcloneInformation {
        var parameters = RcloneParameters()
        parameters.fs = fs
        return try await client.call("operations/fsinfo", parameters, on: "", as: RcloneInformation.self)
    }

    /// For a call on one item. (What the remote can do decides how it is addressed.)
    func parameters(_ path: String) async throws(FileProviderError) -> RcloneParameters {
        _ = try await traits()
        var parameters = RcloneParameters()
        parameters.fs = client.fs
        parameters.remote = RclonePath.plain(path)
        return parameters
    }

    /// For a call that gives a document another place, or a copy.
    func parameters(_ path: String, to target: String) async throws(FileProviderError) -> RcloneParameters {
        _ = try await traits()
        var parameters = RcloneParameters()
        (parameters.srcFs, parameters.srcRemote) = (client.fs, path)
        (parameters.dstFs, parameters.dstRemote) = (client.fs, target)
        return parameters
    }

    // MARK: Errors

    func gone(_ path: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "\(client.describe(path)): is not in the store")
    }

    func mismatch(_ item: Item) -> FileProviderError {
        FileProviderError(
            .versionMismatch, "\(client.describe(RclonePath.path(item.identifier))): has changed in the store",
            item: item)
    }

    func collision(_ item: Item) -> FileProviderError {
        FileProviderError(
            .filenameCollision, "\(client.describe(RclonePath.path(item.identifier))): the name is taken", item: item)
    }
}

/// What a remote can do, as far as it matters here.
struct RcloneTraits: Sendable {
    /// The checksum that listings have at no cost; nil: none.
    let hash: String?
    let hasEmptyFolders: Bool
    /// A folder is there only as long as something has a path in it, or a marker was made for it.
    var losesEmptyFolders: Bool
    /// Whether a document or a folder can be renamed on the server.
    let moves: Bool
    let movesFolders: Bool
    let copies: Bool
    let reports: Bool
    let ignoresCase: Bool
    /// Whether a folder's date says something.
    let datesFolders: Bool
    /// An upload is not seen until it is complete only under another name, and a rename costs nothing (a disk, SFTP):
    /// a document is replaced by two renames.
    let swaps: Bool
    /// In nanoseconds; nil: the remote does not keep the dates it is given.
    let precision: Int64?

    /// Those that this process can compute, and those that only rclone compares.
    private static let preferred = [
        "sha256", "sha1", "md5", "sha512", "quickxor", "dropbox", "mailru", "hidrive", "whirlpool", "blake3",
    ]
    /// `fs.ModTimeNotSupported`: a hundred years.
    private static let unsupported: Int64 = 100 * 365 * 24 * 3_600 * 1_000_000_000

    init(_ information: RcloneInformation) {
        let features = information.Features
        let hashes = features.SlowHash ?? false ? [] : information.Hashes ?? []
        hash = Self.preferred.first { hashes.contains($0) }
        hasEmptyFolders = features.CanHaveEmptyDirectories ?? false
        losesEmptyFolders = !hasEmptyFolders
        moves = features.Move ?? false
        movesFolders = features.DirMove ?? false
        copies = features.Copy ?? false
        reports = features.About ?? false
        ignoresCase = features.CaseInsensitive ?? false
        datesFolders = features.DirModTimeUpdatesOnWrite ?? false
        swaps = features.PartialUploads ?? false && features.Move ?? false
        precision = information.Precision.flatMap { $0 >= Self.unsupported || $0 < 0 ? nil : $0 }
    }

    /// Whether these are the same date, as far as the remote keeps it.
    func areSame(_ a: FileTime, _ b: FileTime) -> Bool {
        guard let precision else { return true }
        let difference = a.wideNanoseconds - b.wideNanoseconds
        return difference.magnitude < Int128(max(precision, 1)).magnitude + (precision > 1 ? 1 : 0)
    }
}
