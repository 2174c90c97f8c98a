import ControlAPI
import Foundation
import NIOHTTP1
import QueryLanguage
import Surroundings

/// What the page asks; which fields there are depends on the question.
struct WebCall: Decodable, Sendable {
    /// A mount point.
    var domain: String?
    var path: PathBytes?
    var paths: [PathBytes]?
    /// A folder to move to.
    var folder: PathBytes?
    var name: String?
    var text: String?
    var offset: Int?
    var count: Int?
    var fresh: Bool?
    var size: Int?
    var keep: KeptVersion?
    var agreed: [DiscardedChange]?
    /// In bytes a second; 0: none; nil: as it is.
    var download: Int64?
    var upload: Int64?
}

/// What the page shows of an item.
struct WebRow: Encodable {
    var path: PathBytes
    /// For people; active characters are escaped.
    var name: String
    var kind: ItemStatus.Kind
    var type: String?
    var size: Int64 = 0
    var modified: Double = 0
    var state: ItemState?
    var here: Int64 = 0
    var conditions: [String] = []
    var error: String?

    init(_ item: QueryItem) {
        path = item.path
        name = Self.shown(item.path)
        kind = item.kind
        type = item.type
        size = item.size
        modified = item.modified
        state = item.state
        here = item.bytesDownloaded
        conditions = item.conditions.map(\.rawValue).sorted()
        error = item.error.map(ShownText.line)
    }

    init(path: PathBytes, kind: ItemStatus.Kind, error: String?) {
        self.path = path
        name = Self.shown(path)
        self.kind = kind
        self.error = error.map(ShownText.line)
    }

    private static func shown(_ path: PathBytes) -> String {
        ShownText.line(String(decoding: path.bytes.split(separator: WebPath.slash).last ?? [], as: UTF8.self))
    }
}

/// Answers the page's questions, by the daemons of the mounts and by calls at the mounts.
struct WebAPI: Sendable {
    let domains: @Sendable () -> [String]
    let work = MountWork()
    let listings = FolderListings()
    static let longestPage = 500
    static let mostPaths = 1_000
    static let mostResults = 500
    /// For a daemon to answer, in seconds.
    static let patience = 60.0

    func answer(_ name: String, _ call: WebCall, _ answer: Answer) async throws {
        switch name {
        case "domains": try await answer.send(json: await allDomains())
        case "live": try await answer.stream { line in try await live(line) }
        case "list": try await answer.send(json: try await list(call))
        case "find": try await answer.send(json: try await find(call))
        case "search": try await answer.stream { line in try await search(call, line) }
        case "thumbnail": try await thumbnail(call, answer)
        case "text": try await answer.send(json: try await text(call))
        case "rename", "move", "delete", "folder":
            try await change(name, call)
            try await answer.send(json: ["done": true])
        default: try await answer.send(json: try await act(name, call))
        }
    }

    // MARK: Parts of a question

    /// Only what is shown: another path of this machine is none of the page's business.
    func domain(_ call: WebCall) throws -> String {
        guard let domain = call.domain, domains().contains(domain) else {
            throw WebProblem(.notFound, "this is not mounted any more", code: "unmounted")
        }
        return domain
    }

    func path(_ path: PathBytes?) throws -> WebPath {
        guard let path else { throw WebProblem(.badRequest) }
        return try WebPath(path)
    }

    func paths(_ call: WebCall) throws -> [PathBytes] {
        guard let paths = call.paths, paths.count <= Self.mostPaths else { throw WebProblem(.badRequest) }
        return try paths.map { try WebPath($0).path }
    }

    func ask(
        _ domain: String, _ request: ControlRequest, timeout: Double? = patience
    ) async throws -> ControlResponse {
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: domain))
            let response = try await client.send(request, timeout: timeout)
            guard case .failure(let failure) = response else { return response }
            throw WebProblem(.conflict, ShownText.line(failure.message), code: failure.code)
        } catch let error as ControlError {
            throw WebProblem(.serviceUnavailable, ShownText.line(error.message), code: "\(error.code)")
        }
    }

    static let unexpected = WebProblem(.badGateway, "unexpected answer from the daemon; unmount and mount again")

    // MARK: Folders

    struct Page: Encodable {
        var total: Int
        var offset: Int
        var entries: [WebRow]
    }

    /// A part of a folder. Reads its names at most once, and asks the daemon about those in the part; downloads nothing.
    private func list(_ call: WebCall) async throws -> Page {
        let (domain, folder) = (try domain(call), try path(call.path))
        let names = try await names(domain, folder, isFresh: call.fresh ?? false)
        let offset = min(max(0, call.offset ?? 0), names.entries.count)
        let end = min(names.entries.count, offset + min(max(0, call.count ?? 100), Self.longestPage))
        let prefix = folder.bytes.isEmpty ? [] : folder.bytes + [WebPath.slash]
        let paths = (offset..<end).map { PathBytes(bytes: prefix + names.name($0)) }
        var rows: [WebRow] = []
        if !paths.isEmpty {
            let response = try await ask(domain, .promised(paths: paths, wantsTags: false, thumbnail: nil))
            guard case .promised(let items) = response, items.count == paths.count else { throw Self.unexpected }
            rows = zip(offset..., items).map { index, promised in
                if var item = promised.item {
                    item.path = paths[index - offset]
                    return WebRow(item)
                }
                let kind: ItemStatus.Kind = names.entries[index].isFolder ? .folder : .document
                return WebRow(path: paths[index - offset], kind: kind, error: promised.error)
            }
        }
        return Page(total: names.entries.count, offset: offset, entries: rows)
    }

    private func names(_ domain: String, _ folder: WebPath, isFresh: Bool) async throws -> FolderNames {
        try await work.run(domain) { [listings] in try listings.names($0, folder, isFresh: isFresh) }
    }

    private func find(_ call: WebCall) async throws -> [String: Int] {
        guard let text = call.text, (1...255).contains(text.utf8.count) else { throw WebProblem(.badRequest) }
        let names = try await names(try domain(call), try path(call.path), isFresh: false)
        guard !names.entries.isEmpty else { return [:] }
        let start = min(max(0, call.offset ?? 0), names.entries.count - 1)
        return names.find(text, from: start).map { ["index": $0] } ?? [:]
    }

    // MARK: Search

    private struct Found: Encodable {
        var found: [WebRow] = []
        var error: String?
        /// There are more.
        var more = false
        var unlisted = 0
    }

    private struct Enough: Error {}

    private func search(_ call: WebCall, _ line: (any Encodable) async throws -> Void) async throws {
        guard let text = call.text, text.utf8.count <= 1_000 else { throw WebProblem(.badRequest) }
        let domain = try domain(call)
        let predicate: QueryPredicate
        do { predicate = try QueryPredicate(text: text) } catch {
            return try await line(Found(error: error.message))
        }
        let request = ControlRequest.query(QueryRequest(id: UUID().uuidString, predicate: predicate))
        var count = 0
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: domain))
            let response = try await client.follow(request) { news in
                guard case .query(let news) = news else { return }
                let part = news.added.prefix(Self.mostResults - count)
                count += part.count
                let more = part.count < news.added.count
                try await line(Found(found: part.map { WebRow($0) }, more: more, unlisted: news.unlistedFolders))
                if more { throw Enough() }
            }
            if case .failure(let failure) = response { try await line(Found(error: ShownText.line(failure.message))) }
        } catch is Enough {
        } catch let error as ControlError {
            try await line(Found(error: ShownText.line(error.message)))
        }
    }

    // MARK: Contents

    private struct Contents: Encodable {
        /// Nil: it is too large, or no text.
        var text: String?
        var size: Int64
    }

    private static let longestText = 512 << 10

    /// The text of a document, which a person wants to compare.
    private func text(_ call: WebCall) async throws -> Contents {
        let path = try path(call.path)
        let read = try await work.run(try domain(call)) { try $0.read(path, limit: Self.longestText) }
        let text = read.bytes.flatMap { $0.contains(0) ? nil : String(validating: $0, as: UTF8.self) }
        return Contents(text: text, size: read.size)
    }

    /// A picture that the daemon has or can get without a download. Its type is what its bytes say.
    private func thumbnail(_ call: WebCall, _ answer: Answer) async throws {
        let size = min(max(ControlRequest.thumbnailSizes.lowerBound, call.size ?? 64), 512)
        let response = try await ask(try domain(call), .thumbnail(path: try path(call.path).path, size: size))
        guard case .thumbnail(let thumbnail) = response else { throw Self.unexpected }
        let bytes = Array(thumbnail.picture)
        let type: String
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) {
            type = "image/png"
        } else if bytes.starts(with: [0xff, 0xd8, 0xff]) {
            type = "image/jpeg"
        } else {
            throw WebProblem(.notFound)
        }
        try await answer.send(bytes, type: type)
    }
}
