import ControlAPI
import Foundation
import Surroundings
import Synchronization

/// A right to an item.
struct Grant: Codable, Sendable, Equatable {
    var id: UUID
    /// As the provider names the item for ever.
    var identifier: String
    /// Where it was when the right was given.
    var path: PathBytes
    /// The executable that may use it; nil: whoever has the bookmark.
    var program: String?
    var isWritable: Bool
    /// Seconds since 1970.
    var created: Double
    var until: Double?

    func isGood(at moment: Double) -> Bool { until.map { moment < $0 } ?? true }
}

/// The rights that a domain has given; what is not in it is not granted (any more).
final class GrantBook: Sendable {
    private let path: String
    private let grants: Mutex<[UUID: Grant]>

    init(keptAt path: String) throws {
        self.path = path
        var grants: [UUID: Grant] = [:]
        if FileManager.default.fileExists(atPath: path) {
            let data = try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory))
            for grant in try JSONDecoder().decode([Grant].self, from: data) { grants[grant.id] = grant }
        }
        self.grants = Mutex(grants)
    }

    /// On disk when it returns.
    func add(_ grant: Grant) throws {
        try change { $0[grant.id] = grant }
    }

    /// On disk when it returns; nil: there is none.
    func remove(_ id: UUID) throws -> Grant? {
        try change { $0.removeValue(forKey: id) }
    }

    /// On disk when it returns: which there were, also those whose time is over.
    func removeAll() throws -> [UUID] {
        let ids = grants.withLock { Array($0.keys) }
        try change { grants in for id in ids { grants[id] = nil } }
        return ids
    }

    /// The item is called this by now, and is there. On disk when it returns; false: the right is not good any more.
    func update(_ id: UUID, _ identifier: String, _ path: PathBytes) throws -> Bool {
        guard let grant = self[id] else { return false }
        if grant.identifier == identifier && grant.path == path { return true }
        return try change { grants in
            grants[id]?.identifier = identifier
            grants[id]?.path = path
            return grants[id] != nil
        }
    }

    subscript(id: UUID) -> Grant? {
        grants.withLock { $0[id] }.flatMap { $0.isGood(at: Date().timeIntervalSince1970) ? $0 : nil }
    }

    /// Whether it was not revoked; its time may be over.
    func has(_ id: UUID) -> Bool { grants.withLock { $0[id] != nil } }

    /// Those that are good, the oldest first.
    var all: [Grant] {
        let now = Date().timeIntervalSince1970
        return grants.withLock { $0.values.filter { $0.isGood(at: now) } }.sorted { $0.created < $1.created }
    }

    /// The file first: what cannot be written down was not done. What has expired is left out of it.
    private func change<T>(_ body: (inout [UUID: Grant]) -> T) throws -> T {
        try grants.withLock { grants in
            let now = Date().timeIntervalSince1970
            var changed = grants.filter { $0.value.isGood(at: now) }
            let result = body(&changed)
            let kept = changed.values.sorted { $0.created < $1.created }
            try SmallFile.replace(path, with: try JSONEncoder().encode(kept))
            grants = changed
            return result
        }
    }
}
