import FileProvider
import HTTPTransport
import Logging
import Synchronization

/// The first request to a server, made once and shared.
final class ServerProbe: Sendable {
    private let client: DAVClient
    private let root: HTTPLocation
    private let logger: Logger
    private struct Known {
        var traits: ServerTraits?
        /// When the server first failed to say what it can do, and how often it did.
        var failing: (since: ContinuousClock.Instant, count: Int)?
    }
    private let known = Mutex(Known())
    /// Longer, and more often, than a restart makes a server fail whose documents can be read.
    private static let patience = (time: Duration.seconds(120), count: 5)
    private let running = Mutex<Task<Result<ServerTraits, FileProviderError>, Never>?>(nil)

    init(client: DAVClient, root: HTTPLocation, logger: Logger) {
        self.client = client
        self.root = root
        self.logger = logger
    }

    /// The traits, if known, without a request.
    var traitsIfKnown: ServerTraits? { known.withLock { $0.traits } }

    func traits() async throws(FileProviderError) -> ServerTraits {
        if let traits = traitsIfKnown { return traits }
        let task = running.withLock { running in
            if let task = running { return task }
            let task = Task { () -> Result<ServerTraits, FileProviderError> in
                let result: Result<ServerTraits, FileProviderError>
                do throws(FileProviderError) { result = .success(try await self.probe()) } catch {
                    result = .failure(error)
                }
                self.known.withLock { $0.traits = try? result.get() }
                self.running.withLock { $0 = nil }
                return result
            }
            running = task
            return task
        }
        return try await task.value.get()
    }

    /// From this latency on the line, and not the server, limits uploads.
    private static let far = Duration.milliseconds(15)

    private func probe() async throws(FileProviderError) -> ServerTraits {
        let wanted: [DAVProperty] = [.resourceType, .fileID, .resourceID, .favorite]
        guard let response = try await client.propfind(root, wanted, ofAll: true) else {
            throw FileProviderError(
                .serverUnreachable, "\(root): the server has no such folder; is the path of the URL right?")
        }
        guard response.isFolder else { throw FileProviderError(.serverUnreachable, "\(root): is not a folder") }
        var traits = ServerTraits()
        let asked = ContinuousClock.now
        let abilities = try await client.transport.exchange(HTTPRequest("OPTIONS", root, retries: .always)) { reply in
            _ = try? await reply.prefix(64 << 10)
            return reply.list("DAV")
        }
        traits.hasLocks = abilities.contains("2")
        if response.properties[.fileID]?.isEmpty == false {
            traits.family = .ownCloud
            traits.keepsIdentifiers = true
            traits.cloud = CloudPlaces(root: root)
            client.leaveOut(DAVProperty.ofLocks)
            traits.hasFavorites = response.properties[.favorite] != nil
            // PHP has a few workers for all clients: ownCloud's own client sends as many at once.
            client.transport.limitTransfers(to: 6)
            // (Its locks come from an app, and are not needed.)
            traits.hasLocks = false
            if let cloud = traits.cloud {
                traits.capabilities = try await capabilities(cloud)
                if traits.capabilities.hasLocks { client.include(DAVProperty.ofLocks) }
            }
            if let trash = traits.cloud?.trash {
                do throws(FileProviderError) {
                    traits.hasTrash =
                        try await client.propfind(trash, [.resourceType, .lastModified])?.isFolder == true
                } catch {
                    // The server answers, but this user has no trash.
                    if error.code == .serverUnreachable || error.code == .notAuthenticated { throw error }
                }
            }
        } else if abilities.contains(where: { $0.hasPrefix("<http://apache.org/dav/propset/fs/") }) {
            traits.family = .apache
            if response.properties[.resourceID]?.isEmpty != false { client.leaveOut(DAVProperty.unknownToApache) }
            // It has a thread for each transfer; on a near server they would only share its processors.
            if asked.duration(to: .now) >= Self.far { client.transport.allowMostTransfers() }
        }
        if response.properties[.resourceID]?.isEmpty == false { traits.keepsIdentifiers = true }
        logger.info(
            "the server answers",
            metadata: ["url": "\(root)", "family": "\(traits.family)", "identifiers": "\(traits.keepsIdentifiers)"])
        return traits
    }

    /// - Throws: what may pass. A server that goes on like that has none, so that its documents can be used.
    private func capabilities(_ cloud: CloudPlaces) async throws(FileProviderError) -> CloudCapabilities {
        do throws(FileProviderError) { return try await CloudCapabilities.ask(cloud, client) } catch {
            let isLasting = known.withLock { known in
                let (since, count) = known.failing ?? (.now, 0)
                known.failing = (since, count + 1)
                return count >= Self.patience.count && since.duration(to: .now) >= Self.patience.time
            }
            guard error.code == .serverUnreachable, isLasting else { throw error }
            logger.warning(
                "the server does not say what it can do: no signals of changes, locks and rules for names",
                metadata: ["url": "\(root)", "error": "\(error)"])
            return CloudCapabilities()
        }
    }
}
