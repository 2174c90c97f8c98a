import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import Logging
import SyncEngine
import Trees
import Volume

/// What users ask the store for, beyond documents: links to its items, and its trash.
extension DomainService {
    private var client: StoreClient { volume.engine.client }

    private func failure(_ what: String, _ error: FileProviderError) -> ControlFailure {
        let mayHelp = error.code == .notAuthenticated || error.code == .permissionDenied
        let hint = mayHelp ? FailureTable.hint(sending: error.code.description).map { "; \($0)" } : nil
        return ControlFailure(code: error.code.description, message: "\(what): \(error.message)\(hint ?? "")")
    }

    // MARK: Links

    func links(_ path: PathBytes, _ request: LinkRequest) async throws -> [LinkStatus] {
        let shown = domainPaths.shown(path)
        let (_, item) = try volume.inspect(try await domainPaths.resolve(path).id)
        guard let item, let identifier = item.identifier, !item.isExcluded else {
            let what = item?.isExcluded ?? true ? "stays on this machine" : "is not in the store yet; run hydrant sync"
            throw ControlFailure(code: "refused", message: "\(shown): \(what)")
        }
        do {
            switch request {
            case .make(let password, let until, let edits):
                let terms = LinkTerms(
                    password: password, until: until.map { FileTime(seconds: Int64($0)) }, allowsEditing: edits)
                return [status(try await client.shareLink(to: identifier, terms: terms, at: path.string))]
            case .list: return try await client.sharedLinks(to: identifier).map(status)
            case .end(let id): return try await end(id, identifier, path)
            }
        } catch let error as FileProviderError { throw failure(shown, error) }
    }

    private func end(_ id: String?, _ identifier: ItemIdentifier, _ path: PathBytes) async throws -> [LinkStatus] {
        let all = try await client.sharedLinks(to: identifier)
        let wanted = id.map { id in all.filter { $0.identifier == id } } ?? all
        guard !wanted.isEmpty else {
            let what = id.map { "has no link \($0)" } ?? "has no links"
            throw ControlFailure(
                code: "refused", message: "\(domainPaths.shown(path)): \(what); hydrant share --list shows them")
        }
        var ended: [String] = []
        for link in wanted {
            // (Somebody else may have ended it.)
            do { try await client.endSharedLink(link.identifier, to: identifier, at: path.string) } catch {
                var error = error
                if error.code == .noSuchItem { continue }
                if !ended.isEmpty { error.message += "; ended are only: \(ended.joined(separator: ", "))" }
                throw error
            }
            ended.append(link.identifier)
        }
        return wanted.map(status)
    }

    private func status(_ link: SharedLink) -> LinkStatus {
        LinkStatus(
            id: link.identifier, url: link.url, hasPassword: link.hasPassword,
            until: link.until.map { Double($0.seconds) }, edits: link.allowsEditing)
    }

    // MARK: The trash

    func trashed() async throws -> ControlResponse {
        let all = try await items().map(status)
        let count = Self.fitting(all)
        return .trashed(Array(all.prefix(count)), more: count < all.count ? all.count - count : nil)
    }

    private static let mostTrashed = 10_000

    /// How many of these items, from the first on, are sent: those that fit into an answer.
    static func fitting(_ items: [TrashedStatus]) -> Int {
        var room = ControlLimits.responseBytes - 1 << 20
        func size(_ text: String) -> Int {
            text.utf8.reduce(0) { sum, byte in
                switch byte {
                case 0..<32: sum + 6
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): sum + 2
                default: sum + 1
                }
            }
        }
        let end = items.prefix(mostTrashed).firstIndex { item in
            // (And the keys and numbers.)
            room -= size(item.id) + size(item.name) + size(item.path) + 200
            return room < 0
        }
        return end ?? min(items.count, mostTrashed)
    }

    /// The last deleted first.
    private func items() async throws(ControlFailure) -> [TrashEntry] {
        do {
            return try await client.trashedItems().sorted {
                ($1.deleted?.nanoseconds ?? .min, $0.identifier) < ($0.deleted?.nanoseconds ?? .min, $1.identifier)
            }
        } catch { throw failure(mountPoint, error) }
    }

    func restoreTrashed(_ id: String, _ path: PathBytes?) async throws -> RestoredStatus {
        let all = try await items()
        let item: TrashEntry
        if let found = all.first(where: { $0.identifier == id }) {
            item = found
        } else if path == nil, all.count >= TrashEntry.most {
            // It may be one of those that were deleted before all of these.
            item = TrashEntry(identifier: id, path: [Filename(id)], kind: .document, size: 0, deleted: nil)
        } else {
            let names = path?.names ?? []
            let found = all.filter { $0.path == names }
            guard let last = found.first else {
                let what = path.map { domainPaths.shown($0) } ?? id
                throw ControlFailure(
                    code: "refused", message: "\(what): is not in the store's trash; hydrant trash lists what is")
            }
            guard found.count == 1 else {
                let ids = found.map(\.identifier).joined(separator: ", ")
                throw ControlFailure(
                    code: "refused",
                    message:
                        "\(domainPaths.shown(names)): is in the store's trash \(found.count) times; restore one by "
                        + "its ID: \(ids)")
            }
            item = last
        }
        let from = domainPaths.shown(item.path)
        var now: [Filename]?
        do {
            now = try await client.restoreTrashedItem(
                item.identifier, from: item.path.map(\.string).joined(separator: "/"))
        } catch { throw failure(from, error) }
        if let names = now {
            // Shown at once: its folder may have been listed before.
            do { try await picking.locate(PathBytes(joining: names)) } catch {
                volume.engine.mount.logger.debug("a restored item does not show yet", metadata: ["error": "\(error)"])
            }
        }
        return RestoredStatus(id: item.identifier, from: from, path: now.map { domainPaths.shown($0) })
    }

    private func status(_ item: TrashEntry) -> TrashedStatus {
        let kind: ItemStatus.Kind =
            switch item.kind {
            case .document: .document
            case .folder: .folder
            case .symbolicLink: .link
            }
        return TrashedStatus(
            id: item.identifier, name: item.path.last?.string ?? "", path: domainPaths.shown(item.path), kind: kind,
            size: item.size, deleted: item.deleted.map { Double($0.nanoseconds) / 1e9 })
    }
}
