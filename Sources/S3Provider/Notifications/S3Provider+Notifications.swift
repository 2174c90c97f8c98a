package import FileProvider
import Foundation
import Logging

/// The changes of a bucket, as its server tells of them.
extension S3Provider: ChangeSignaling, AbilityReporting {
    /// Without an address for notifications, Hydrant asks by itself.
    package var abilities: Set<Ability> {
        Set(Ability.allCases).subtracting(settings.notifications == nil ? [.changeSignaling] : [])
    }

    package func changeSignals() -> AsyncStream<ChangeSignal> {
        let (stream, continuation) = AsyncStream<ChangeSignal>.makeStream(bufferingPolicy: .bufferingNewest(1_000))
        guard let address = settings.notifications else {
            continuation.finish()
            return stream
        }
        let listening = Task { await self.listen(at: address, continuation) }
        continuation.onTermination = { _ in listening.cancel() }
        keep(listening: listening)
        return stream
    }

    /// Seconds. A message may be lost; so everything is looked at every now and then.
    private static let look = 300.0
    /// Seconds between attempts to listen, or to subscribe.
    private static let retry = 60.0
    /// More messages than this that wait become one look at everything.
    private static let mostMessages = 200

    private func listen(
        at address: S3NotificationAddress, _ continuation: AsyncStream<ChangeSignal>.Continuation
    ) async {
        let (messages, inbox) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingNewest(Self.mostMessages))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await message in messages {
                    for signal in await self.signals(of: message) { continuation.yield(signal) }
                }
            }
            group.addTask {
                await self.subscribe(at: address, continuation) { message in
                    if case .dropped = inbox.yield(message) { continuation.yield(.everything) }
                }
                inbox.finish()
            }
        }
        continuation.finish()
    }

    /// What a message says to look at: the nearest folder of each object that is known here.
    func signals(of message: [UInt8]) async -> Set<ChangeSignal> {
        guard let paths = S3Notification.paths(message, address) else { return [.everything] }
        let chains = paths.map { S3Notification.folders(of: $0) }
        let folders = Set(chains.joined()).map { S3Key.identifier($0) }
        guard let catalog, let known = try? await catalog.knownItems(folders) else { return [.everything] }
        let names = Set(known.map(\.identifier))
        return Set(
            chains.map { chain in
                .folder(chain.map { S3Key.identifier($0) }.first { names.contains($0) } ?? .rootContainer)
            })
    }

    /// Listens and subscribes, again where one of them fails or ends, until the task is cancelled.
    private func subscribe(
        at address: S3NotificationAddress, _ continuation: AsyncStream<ChangeSignal>.Continuation,
        _ take: @escaping @Sendable ([UInt8]) -> Void
    ) async {
        // (256 bits.)
        let token = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max), radix: 16) }.joined(separator: "-")
        let subscription = S3Subscription(client: client, address: address, token: token)
        var server: S3NotificationServer?
        var topic: String?
        var waited = 0.0
        while !Task.isCancelled {
            do {
                if server == nil { server = try await S3NotificationServer(address, token: token, take: take) }
                if topic != nil, try await !subscription.isThere() { topic = nil }
                if topic == nil {
                    topic = try await subscription.begin()
                    logger.info("the server tells of changes", metadata: ["at": "\(address.host):\(address.port)"])
                    // Changes from before.
                    continuation.yield(.everything)
                }
            } catch {
                logger.warning(
                    "the server cannot tell of changes now; Hydrant looks every 5 minutes, and tries again",
                    metadata: ["reason": "\(error)", "at": "\(address.host):\(address.port)"])
            }
            let pause = topic == nil ? Self.retry : Self.look
            if (try? await Task.sleep(for: .seconds(pause))) == nil { break }
            waited += pause
            guard waited >= Self.look else { continue }
            continuation.yield(.everything)
            waited = 0
        }
        if let server { await server.end() }
        guard let topic else { return }
        // (This task is cancelled, and so would these requests be.)
        await Task { await subscription.end(topic) }.value
    }
}
