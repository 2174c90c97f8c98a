package import FileProvider
import HTTPTransport
import Logging
import Synchronization
import Waiting

/// The connection to Nextcloud's app notify_push, which tells at once what somebody has changed.
///
/// Source: github.com/nextcloud/notify_push, README and DEVELOPING.md.
final class CloudPush: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// Of the task whose connection is up; nil: none.
        var up: Int?
        var count = 0
        /// Ends the pause before the next try.
        var wake: FirstAnswer<Void>?
        /// The password may have changed since the present try began: no pause follows it.
        var isInvited = false
        var isOver = false
        var openings: AsyncStream<Void>.Continuation?
    }
    private let state = Mutex(State())

    var isUp: Bool { state.withLock { $0.up == $0.count } }

    /// The password may have changed.
    func tryNow() {
        let wake = state.withLock { state in
            state.isInvited = true
            return state.wake
        }
        wake?.resume(())
    }

    /// An element for each time the connection comes up; the newest call has them.
    func openings() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (old, isOver) = state.withLock { state in
            defer { state.openings = state.isOver ? nil : continuation }
            return (state.openings, state.isOver)
        }
        old?.finish()
        if isOver { continuation.finish() }
        return stream
    }

    func signals(for provider: WebDAVProvider) -> AsyncStream<ChangeSignal> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChangeSignal.self, bufferingPolicy: .bufferingNewest(Self.mostSignals))
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let task = Task { [self] in
            await run(provider, number) { signal in
                if case .dropped = continuation.yield(signal) { continuation.yield(.everything) }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        let old = state.withLock { state in
            defer { state.task = task }
            return state.isOver ? task : state.task
        }
        old?.cancel()
        return stream
    }

    private static let mostSignals = 1_000

    /// Begins to close the connection; ``hasEnded()`` waits for it.
    func end() {
        let (task, openings) = state.withLock { state in
            state.isOver = true
            return (state.task, state.openings)
        }
        openings?.finish()
        task?.cancel()
    }

    func hasEnded() async { await state.withLock { $0.task }?.value }

    // MARK: The connection

    /// Keeps a connection until its task is cancelled; returns at once where the server has no such app.
    private func run(
        _ provider: WebDAVProvider, _ number: Int, _ signal: @Sendable @escaping (ChangeSignal) -> Void
    ) async {
        var pauses = PushPauses()
        while !Task.isCancelled {
            let start = ContinuousClock.now
            var isRefused = false
            state.withLock { $0.isInvited = false }
            do throws(FileProviderError) {
                let traits = try await provider.probe.traits()
                guard let socket = traits.capabilities.push else { return }
                try await provider.findFoldersAbove()
                isRefused = try await !connect(to: socket, provider, number, signal)
            } catch {
                provider.logger.debug("no news from the server", metadata: ["error": "\(error)"])
            }
            let wasUp = state.withLock { state in
                guard state.up == number else { return false }
                state.up = nil
                return true
            }
            let pause = pauses.next(after: wasUp ? start.duration(to: .now) : .zero, isRefused: isRefused)
            if Task.isCancelled { return }
            let wake = FirstAnswer<Void>()
            let isInvited = state.withLock { state in
                state.wake = wake
                return state.isInvited
            }
            if !isInvited { await wake.wait(within: pause, otherwise: ()) }
            state.withLock { $0.wake = nil }
        }
    }

    /// Passes on what one connection brings, until it ends.
    ///
    /// - Returns: false: the server does not accept the password, or there is none.
    private func connect(
        to socket: HTTPLocation, _ provider: WebDAVProvider, _ number: Int,
        _ signal: @Sendable @escaping (ChangeSignal) -> Void
    ) async throws(FileProviderError) -> Bool {
        guard case .basic(let user, let password)? = try await provider.client.transport.credential() else {
            return false
        }
        return try await provider.client.transport.withWebSocket(at: socket) { [self] webSocket in
            try await webSocket.send(user)
            try await webSocket.send(password.revealed)
            let answer = FirstAnswer<Bool>()
            // The server's texts are read at once, so that it does not seem silent while we ask what they mean.
            let (changes, news) = AsyncStream.makeStream(
                of: [Int64].self, bufferingPolicy: .bufferingNewest(Self.mostWaiting))
            return try await withThrowingTaskGroup(of: Bool?.self) { group in
                group.addTask {
                    if await answer.wait(within: Self.patience, otherwise: false) { return nil }
                    throw FileProviderError(.serverUnreachable, "\(socket): did not answer to the password in time")
                }
                group.addTask {
                    for await numbers in changes {
                        let found = await provider.signals(of: numbers)
                        // (After the connection's end everything is asked for anyway.)
                        if Task.isCancelled { break }
                        for one in found { signal(one) }
                    }
                    return nil
                }
                group.addTask { [self] in
                    for try await text in webSocket.texts {
                        switch PushMessage(text) {
                        case .authenticated:
                            let openings = state.withLock { state in
                                state.up = number
                                return state.openings
                            }
                            provider.logger.info("the server tells of changes", metadata: ["url": "\(socket)"])
                            answer.resume(true)
                            try await webSocket.send("listen notify_file_id")
                            // (From here on each change is told: what changed before has to be asked for.)
                            openings?.yield(())
                        case .refused: return false
                        case .failed:
                            throw FileProviderError(
                                .serverUnreachable, "\(socket): cannot sign in: \(text.prefix(200))")
                        case .changed(let numbers):
                            if case .dropped = news.yield(numbers) { signal(.everything) }
                        case .other: break
                        }
                    }
                    return true
                }
                defer { group.cancelAll() }
                while let ended = try await group.next() {
                    if let ended { return ended }
                }
                return true
            }
        }
    }

    /// Texts of the server that we have not asked about yet.
    private static let mostWaiting = 100
    /// For the server's answer to the password; it gives itself 15 s for that.
    private static let patience = Duration.seconds(20)
}

/// How long to wait between two connections: longer after each that fails, and never the same for many clients.
struct PushPauses {
    private var pause = shortest
    private static let shortest = Duration.seconds(1)
    private static let longest = Duration.seconds(300)
    /// After a refused password; the server counts wrong ones, and delays all requests of an address that sends them.
    private static let afterRefusal = Duration.seconds(900)
    /// A connection that was up for this long was good.
    private static let good = Duration.seconds(60)

    /// - Parameter up: how long the last connection was up.
    mutating func next(after up: Duration, isRefused: Bool = false) -> Duration {
        if up >= Self.good { pause = Self.shortest }
        let base = isRefused ? Self.afterRefusal : pause
        pause = min(pause * 2, Self.longest)
        return base * Double.random(in: 0.5...1.5)
    }
}

/// A text of notify_push.
enum PushMessage: Equatable {
    case authenticated
    case refused
    /// The server could not find out whether the password is right.
    case failed
    /// Numbers of documents and folders; empty: the server does not say which.
    case changed([Int64])
    case other

    /// More become an unknown number.
    static let mostNumbers = 1_000

    init(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        switch words.first {
        case "authenticated": self = .authenticated
        // (The push server asks the Nextcloud; its other errors say that the Nextcloud did not answer.)
        case "err:": self = words.count == 2 && words[1].hasPrefix("Invalid credentials") ? .refused : .failed
        case "notify_file": self = .changed([])
        case "notify_file_id" where words.count == 2:
            let list = words[1].drop { $0 == "[" || $0 == " " }.prefix { $0 != "]" }
            let parts = list.split(separator: ",", maxSplits: Self.mostNumbers)
            let numbers = parts.compactMap { Int64($0.filter { $0 != " " }) }
            self = .changed(numbers.count == parts.count && parts.count <= Self.mostNumbers ? numbers : [])
        default: self = .other
        }
    }
}

// MARK: What has changed

extension WebDAVProvider: ConnectedSignaling {
    package var isSignaling: Bool { push.isUp }

    package func changeSignals() -> AsyncStream<ChangeSignal> { push.signals(for: self) }

    package func signalOpenings() -> AsyncStream<Void>? { push.openings() }

    /// - Parameter numbers: of items that somebody made, changed, moved or deleted; empty: not known.
    func signals(of numbers: [Int64]) async -> [ChangeSignal] {
        guard !numbers.isEmpty else { return [.everything] }
        let identifiers = numbers.map { ItemIdentifier("f:\($0)") }
        guard let catalog else { return identifiers.map { .item($0) } }
        do throws(FileProviderError) {
            let known = try await catalog.knownItems(identifiers)
            // Many items of one folder are seen faster by listing the folder.
            var signals = Dictionary(grouping: known) { $0.parentIdentifier }.flatMap {
                folder, items -> [ChangeSignal] in
                items.count > Self.mostItemsAlone ? [.folder(folder)] : items.map { .item($0.identifier) }
            }
            let others = Set(identifiers).subtracting(known.map(\.identifier))
            // Those that we have just made or listed, which the catalog does not know yet.
            let fresh = others.filter { places.place(of: $0) != nil }
            var folders = Set(fresh.compactMap { places.place(of: $0)?.parent })
            folders.formUnion(try await nearestKnownFolders(to: others.subtracting(fresh), catalog))
            for folder in folders where !signals.contains(.folder(folder)) { signals.append(.folder(folder)) }
            return signals
        } catch {
            logger.debug("cannot tell what has changed", metadata: ["error": "\(error)"])
            return [.everything]
        }
    }

    private static let mostItemsAlone = 8

    /// The folders whose listings show new items, or the first folders that we do not know on the way to them. Items
    /// that are not in the mounted folder, or gone again, have none.
    private func nearestKnownFolders(
        to identifiers: Set<ItemIdentifier>, _ catalog: any FileProviderDomain
    ) async throws(FileProviderError) -> Set<ItemIdentifier> {
        let numbers = identifiers.compactMap { Int64($0.rawValue.dropFirst(2)) }.filter { !above.contains($0) }
        guard let cloud = probe.traitsIfKnown?.cloud, !numbers.isEmpty else { return [] }
        var folders: Set<ItemIdentifier> = []
        for location in try await finder.findAll(numbers.sorted(), cloud, client).values {
            guard let names = location.components(below: root), !names.isEmpty else { continue }
            var folder = ItemIdentifier.rootContainer
            for name in names.dropLast() {
                guard let next = try await catalog.knownItem(named: Filename(bytes: name), in: folder), next.isFolder
                else { break }
                folder = next.identifier
            }
            folders.insert(folder)
        }
        return folders
    }
}

/// The numbers of the mounted folder and of those above it, which change with everything below them.
final class FoldersAbove: Sendable {
    private let numbers = Mutex<Set<Int64>?>(nil)
    var areKnown: Bool { numbers.withLock { $0 != nil } }
    func contains(_ number: Int64) -> Bool { numbers.withLock { $0?.contains(number) == true } }
    func set(_ found: Set<Int64>) { numbers.withLock { $0 = found } }
}

extension WebDAVProvider {
    /// Asks for the numbers of the mounted folder and of those above it, once: a search does not find the topmost one.
    fileprivate func findFoldersAbove() async throws(FileProviderError) {
        guard !above.areKnown, let cloud = probe.traitsIfKnown?.cloud else { return }
        var numbers: Set<Int64> = []
        // (`files`, and the user's name.)
        let first = cloud.service.components.count + 2
        for count in first...max(first, root.components.count) {
            let folder = HTTPLocation(origin: root.origin, components: Array(root.components.prefix(count)))
            let response = try await client.propfind(folder, [.resourceType, .fileID])
            if let number = response?.properties[.fileID].flatMap({ Int64($0) }) { numbers.insert(number) }
        }
        above.set(numbers)
    }
}
