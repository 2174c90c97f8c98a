package import FileProvider
import Foundation
import HTTPTransport
package import Logging
import Synchronization

/// A bucket on a server that speaks S3: Amazon's, SeaweedFS, Ceph RGW, MinIO and others.
///
/// The initializer makes no request, so that a domain can be mounted offline.
package final class S3Provider: Invalidatable, SigningIn {
    let client: S3Client
    let address: S3Address
    let settings: S3Settings
    let logger: Logger
    let conditions: S3Abilities
    let intents = S3Intents()
    private let domain = Mutex<(any FileProviderDomain)?>(nil)
    private let credentials: any S3CredentialSource
    private let listening = Mutex<Task<Void, Never>?>(nil)
    /// Whether there are no credentials: a public bucket.
    package let isReadOnly: Bool

    /// - Parameter isReadOnly: requests are not signed, and the bucket takes no changes.
    /// - Throws: for an endpoint that is none, and when a file of certificates cannot be read.
    package init(
        address: S3Address, settings: S3Settings = S3Settings(), credentials: any S3CredentialSource,
        isReadOnly: Bool = false, logger: Logger
    ) throws(FileProviderError) {
        self.address = address
        self.settings = settings
        self.logger = logger
        self.credentials = credentials
        self.isReadOnly = isReadOnly
        let endpoint: S3Endpoint
        do throws(S3Address.Problem) {
            endpoint = try S3Endpoint(
                url: settings.endpoint ?? address.endpoint, region: settings.region, isPathStyle: settings.isPathStyle,
                bucket: address.bucket)
        } catch { throw FileProviderError(.invalidName, error.description) }
        client = try S3Client(
            settings, address: address, endpoint: endpoint, credentials: credentials, logger: logger)
        conditions = S3Abilities(client: client, logger: logger)
    }

    package var providerIdentifier: String { "hydrant.s3" }

    package func beginServing(_ domain: any FileProviderDomain) async throws(FileProviderError) {
        self.domain.withLock { $0 = domain }
    }

    func keep(listening task: Task<Void, Never>) { listening.withLock { $0 = task } }

    package func invalidate() async {
        // (It takes back what it has asked of the server.)
        let task = listening.withLock { $0 }
        task?.cancel()
        await task?.value
        await client.shutdown()
        await credentials.end()
    }

    package func credentialMayHaveChanged() { credentials.mayHaveChanged() }

    var catalog: (any FileProviderDomain)? { domain.withLock { $0 } }

    func key(_ path: String) -> String { address.prefix + path }

    // MARK: Errors

    func gone(_ path: String) -> FileProviderError {
        FileProviderError(.noSuchItem, "\(client.describe(key(path))): is not in the bucket")
    }

    func mismatch(_ item: Item) -> FileProviderError {
        FileProviderError(
            .versionMismatch, "\(client.describe(key(S3Key.path(item.identifier)))): has changed in the bucket",
            item: item)
    }

    func collision(_ item: Item) -> FileProviderError {
        FileProviderError(
            .filenameCollision, "\(client.describe(key(S3Key.path(item.identifier)))): the name is taken", item: item)
    }

    /// The error for a document whose contents have changed, or that is gone.
    func mismatchOrGone(_ path: String) async throws(FileProviderError) -> FileProviderError {
        guard let head = try await client.head(key(path)) else { return gone(path) }
        return mismatch(try await item(asking: path, head))
    }
}

extension S3Provider {
    /// Makes the bucket, if it is not there.
    package func makeBucket() async throws(FileProviderError) {
        let outcome = try await client.exchange(S3Client.Request(method: "PUT")) { reply -> Void in
            _ = try? await reply.prefix(64 << 10)
        }
        guard case .refused(let refusal) = outcome else { return }
        guard refusal.code == "BucketAlreadyOwnedByYou" || refusal.code == "BucketAlreadyExists" else {
            throw client.failure(refusal, nil)
        }
    }
}
