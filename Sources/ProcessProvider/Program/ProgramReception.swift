import FileProvider
import Foundation
import Logging
import Synchronization
import Waiting

/// Answers what a provider program asks, and takes its notices. It outlives each run of the program.
package final class ProgramReception: Sendable {
    private struct State {
        var domain: (any FileProviderDomain)?
        var signals: AsyncStream<ChangeSignal>.Continuation?
    }
    private let state = Mutex(State())
    private let log: ProgramLog?
    /// What one answer to `readContents` sends at a time.
    private static let piece = 256 << 10
    private static let mostSignals = 1_000
    private static let largestThumbnail = 512 << 10

    package init(log: ProgramLog?) { self.log = log }

    /// The domain that is served; nil before `beginServing`.
    var domain: (any FileProviderDomain)? {
        get { state.withLock { $0.domain } }
        set { state.withLock { $0.domain = newValue } }
    }

    // MARK: Notices

    func signals() -> AsyncStream<ChangeSignal> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChangeSignal.self, bufferingPolicy: .bufferingNewest(Self.mostSignals))
        let old = state.withLock { state in
            defer { state.signals = continuation }
            return state.signals
        }
        old?.finish()
        return stream
    }

    func signal(_ signal: ChangeSignal) {
        let signals = state.withLock { $0.signals }
        if case .dropped = signals?.yield(signal) { signals?.yield(.everything) }
    }

    func endSignals() { state.withLock { $0.signals }?.finish() }

    func handler(_ hello: FirstAnswer<Message.Hello?> = FirstAnswer()) -> Connection.Handler {
        Connection.Handler(
            request: { [self] request, connection in await serve(request, connection) },
            notice: { [self] method, json, _ in
                switch method {
                case .hello: hello.resume(Connection.params(Message.Hello.self, json))
                case .changed:
                    if let changed = Connection.params(Message.Changed.self, json) { signal(changed.value) }
                case .log:
                    guard let said = Connection.params(Message.Log.self, json) else { return }
                    log?.add(said.message, level: said.level.flatMap { Logger.Level(rawValue: $0) } ?? .info)
                default: break
                }
            })
    }

    // MARK: Requests

    private func serve(_ request: ServedRequest, _ connection: Connection) async {
        do throws(FileProviderError) { try await answer(request, connection) } catch { request.answer(error) }
    }

    private func answer(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        switch Method(rawValue: request.name) {
        case .readContents: try await readContents(request, connection)
        case .catalogIdentifierForItem:
            let (domain, url) = try located(request, connection)
            request.answer(Message.Identified(identifier: try await domain.catalogIdentifierForItem(at: url)))
        case .itemIdentifier:
            let (domain, url) = try located(request, connection)
            request.answer(Message.Identified(identifier: try await domain.itemIdentifier(at: url)))
        case .urlForItemWithCatalogIdentifier:
            let params = try request.params(Message.Identified.self)
            let domain = try domain(params.request, connection)
            let url = try await domain.urlForItem(withCatalogIdentifier: params.identifier)
            request.answer(Message.Located(url: url.absoluteString))
        case .url:
            let params = try request.params(Message.Identified.self)
            let url = try await domain(params.request, connection).url(of: params.identifier)
            request.answer(Message.Located(url: url.absoluteString))
        case .knownItem:
            let params = try request.params(Message.Identified.self)
            let item = try await domain(params.request, connection).knownItem(params.identifier)
            request.answer(Message.KnownItem(item: item.map(WireKnownItem.init)))
        case .knownItems:
            let params = try request.params(Message.KnownItems.self)
            let items = try await domain(params.request, connection).knownItems(params.identifiers)
            await request.answer(list: Message.KnownItemList(items: items.map(WireKnownItem.init)))
        case .knownItemsInFolder:
            let params = try request.params(Message.KnownItemsInFolder.self)
            let items = try await domain(params.request, connection).knownItems(in: params.folder)
            await request.answer(list: Message.KnownItemList(items: items.map(WireKnownItem.init)))
        case .knownItemNamed:
            let params = try request.params(Message.KnownItemNamed.self)
            let item = try await domain(params.request, connection).knownItem(
                named: Filename(bytes: params.filename.bytes), in: params.folder)
            request.answer(Message.KnownItem(item: item.map(WireKnownItem.init)))
        case .knownDocuments:
            let params = try request.params(Message.KnownDocuments.self)
            let versions = Set(params.versions.map { ContentVersion(bytes: $0.bytes) })
            let items = try await domain(params.request, connection).knownDocuments(having: versions)
            await request.answer(list: Message.KnownItemList(items: items.map(WireKnownItem.init)))
        case .writePlaceholder: try await writePlaceholder(request, connection)
        default: throw FileProviderError(.unsupported, "\(request.name.prefix(100)): Hydrant has no such request")
        }
    }

    private func readContents(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        let params = try request.params(Message.ReadContents.self)
        guard let contents = connection.contents(of: params.request) else {
            throw FileProviderError(.noSuchItem, "the request \(params.request) has no contents, or is answered")
        }
        guard params.offset >= 0, params.length >= 0 else {
            throw FileProviderError(.cannotSynchronize, "readContents: the offset or the length is negative")
        }
        var offset = params.offset
        let end = min(offset.clampedAdding(params.length), contents.size)
        while offset < end {
            connection.sign(of: params.request)
            let count = Int(min(Int64(Self.piece), end - offset))
            if connection.isCancelled(params.request) {
                throw FileProviderError(.cancelled, "the request \(params.request) was cancelled")
            }
            let bytes = try await read(contents, offset, count, params, connection)
            // (The contents are shorter than they should be.)
            if bytes.isEmpty { break }
            try await request.send(bytes, at: offset)
            offset += Int64(bytes.count)
        }
        connection.sign(of: params.request)
        request.answer(Message.Nothing())
    }

    /// However long it takes, the program is not silent meanwhile.
    private func read(
        _ contents: any ContentSource, _ offset: Int64, _ count: Int, _ params: Message.ReadContents,
        _ connection: Connection
    ) async throws(FileProviderError) -> [UInt8] {
        connection.isRead(params.request, true)
        defer { connection.isRead(params.request, false) }
        return params.isLocal == true
            ? try await contents.readLocally(at: offset, upTo: count)
            : try await contents.read(at: offset, upTo: count)
    }

    private func writePlaceholder(_ request: ServedRequest, _ connection: Connection) async throws(FileProviderError) {
        let params = try request.params(Message.WritePlaceholder.self)
        let domain = try domain(params.request, connection)
        guard let url = URL(string: params.url) else { throw Self.noURL(params.url) }
        if let count = params.thumbnail?.bytes.count, count > Self.largestThumbnail {
            throw FileProviderError(
                .cannotSynchronize,
                "writePlaceholder: the thumbnail has \(count) bytes, more than \(Self.largestThumbnail)")
        }
        try await domain.writePlaceholder(
            at: url, withMetadata: params.item.value,
            thumbnail: params.thumbnail.map { FileProvider.Thumbnail(bytes: $0.bytes) })
        request.answer(Message.Nothing())
    }

    /// The domain that a request asks about: that of the request of ours to which it belongs, or the mounted one.
    private func domain(
        _ request: UInt64?, _ connection: Connection
    ) throws(FileProviderError) -> any FileProviderDomain {
        if let domain = request.flatMap({ connection.domain(of: $0) }) ?? domain { return domain }
        throw FileProviderError(.cannotSynchronize, "no domain is served yet: wait for beginServing")
    }

    private func located(
        _ request: ServedRequest, _ connection: Connection
    ) throws(FileProviderError) -> (any FileProviderDomain, URL) {
        let params = try request.params(Message.Located.self)
        guard let url = URL(string: params.url) else { throw Self.noURL(params.url) }
        return (try domain(params.request, connection), url)
    }

    private static func noURL(_ text: String) -> FileProviderError {
        FileProviderError(.invalidName, "“\(text.prefix(1_000))”: not a URL")
    }
}
