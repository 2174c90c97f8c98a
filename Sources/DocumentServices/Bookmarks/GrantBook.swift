import ControlAPI
import Foundation
import Surroundings
import Synchronization

/// A right to access an item.
struct Grant: Codable, Sendable, Equatable {
    var id: UUID
    /// The provider's persistent identifier of the item.
    var identifier: String
    /// The item's path when the right was granted.
    var path: PathBytes
    /// The executable that may use the right; nil: every holder of the bookmark may.
    var program: String?
    var isWritable: Bool
    /// Seconds since 1970.
    var created: Double
    var until: Double?

    func isGood(at moment: Double) -> Bool { until.map { moment < $0 } ?? true }
}

/// The grants of a domain. A grant that is missing here was revoked, has expired or never existed.
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

    /// The grant is on the disk when this returns.
    func add(_ grant: Grant) throws {
        try change { $0[grant.id] = grant }
    }

    /// The removal is on the disk when this returns; nil: there is no such grant.
    func remove(_ id: UUID) throws -> Grant? {
        try change { $0.removeValue(forKey: id) }
    }

    /// Returns the identifiers of all grants, expired ones included. The removal is on the disk when this returns.
    func removeAll() throws -> [UUID] {
        let ids = grants.withLock { Array($0.keys) }
        try change { grants in for id in ids { grants[id] = nil } }
        return ids
    }

    /// Records the item's new identifier and path, on the disk when this returns. False: the grant is no longer valid.
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

    /// Whether the grant exists, that is, was not revoked; it may have expired.
    func has(_ id: UUID) -> Bool { grants.withLock { $0[id] != nil } }

    /// The valid grants, the oldest first.
    var all: [Grant] {
        let now = Date().timeIntervalSince1970
        return grants.withLock { $0.values.filter { $0.isGood(at: now) } }.sorted { $0.created < $1.created }
    }

    /// Writes the file before the change in memory, so that a failed write changes nothing. Leaves out expired grants.
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
