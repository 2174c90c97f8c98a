import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import ItemCatalog
import Surroundings
import Synchronization
import Trees

/// The last known places of the items that the catalog's identifiers name. The book outlives the catalog, as the
/// domain's key does: if the catalog was lost, or removed at a sign-out, bookmarks work again with the next catalog.
package final class IdentifierBook: Sendable {
    struct Place: Codable, Equatable, Sendable {
        var id: ItemIdentifier.RawValue
        var path: PathBytes
        var isFolder: Bool
        /// The identifier that a later catalog gave the item.
        var heir: ItemIdentifier.RawValue?
        /// The item was deleted.
        var isGone: Bool?

        var identifier: ItemIdentifier { ItemIdentifier(heir ?? id) }
    }

    private struct State {
        var places: [String: Place] = [:]
        /// The number of lines in the file.
        var lines = 0
    }
    private let path: String
    private let state: Mutex<State>

    /// Items beyond this number are not noted: their bookmarks work as long as the catalog exists.
    private static let most = 50_000

    /// The file has one line for each change. The last line of an item counts; an incomplete line is ignored.
    package init(keptAt path: String) throws {
        self.path = path
        var state = State()
        if FileManager.default.fileExists(atPath: path) {
            let data = try Data(contentsOf: URL(filePath: path, directoryHint: .notDirectory))
            for line in data.split(separator: UInt8(ascii: "\n")) {
                state.lines += 1
                if let place = try? JSONDecoder().decode(Place.self, from: line) { state.places[place.id] = place }
            }
        }
        // (Rewrite the file: the next line would be appended to an incomplete one.)
        if state.lines > state.places.count { state.lines = try Self.write(state.places, to: path) }
        self.state = Mutex(state)
    }

    /// Nil: the item was not noted, or was deleted.
    subscript(identifier: ItemIdentifier) -> Place? {
        state.withLock { $0.places[identifier.rawValue] }.flatMap { $0.isGone == true ? nil : $0 }
    }

    /// The note is on the disk when this returns.
    func note(_ identifier: ItemIdentifier, at names: [Filename], isFolder: Bool) throws {
        try put(Place(id: identifier.rawValue, path: PathBytes(joining: names), isFolder: isFolder))
    }

    /// Records the new identifier of an item that was found again.
    func adopt(_ place: Place, as heir: ItemIdentifier) throws {
        var place = place
        place.heir = heir.rawValue
        try put(place)
    }

    /// Notes the current place of every item before the catalog is removed, and drops the items that the catalog knows
    /// to be deleted.
    func refresh(from catalog: Catalog) throws {
        let known = state.withLock { $0.places }
        if known.isEmpty { return }
        let now = try catalog.read { reader in
            try known.mapValues { place in
                guard try reader.hasMade(place.identifier) else { return place }
                var place = place
                let item = try reader.item(persistently: place.identifier)
                if let inode = item?.local == nil ? nil : item?.inode, let names = try reader.path(of: inode) {
                    place.path = PathBytes(joining: names)
                } else {
                    place.isGone = true
                }
                return place
            }
        }
        try state.withLock { state in
            if state.lines == now.count && now == state.places { return }
            let kept = now.filter { $0.value.isGone != true }
            state = State(places: kept, lines: try Self.write(kept, to: path))
        }
    }

    private func put(_ place: Place) throws {
        try state.withLock { state in
            let known = state.places[place.id]
            // (An item that an earlier catalog noted keeps its heir.)
            if known == place || known == nil && state.places.count >= Self.most { return }
            let line = [UInt8](try Self.line(place))
            let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw failure }
            defer { close(descriptor) }
            guard Glibc.write(descriptor, line, line.count) == line.count, fsync(descriptor) == 0 else { throw failure }
            state.places[place.id] = place
            state.lines += 1
            // Compact the file: one document may be renamed and bookmarked many times.
            guard state.lines > 2 * state.places.count + 1_000 else { return }
            state.lines = try Self.write(state.places, to: path)
        }
    }

    /// - Returns: the number of lines in the new file.
    private static func write(_ places: [String: Place], to path: String) throws -> Int {
        let lines = try places.values.sorted { $0.id < $1.id }.map(line)
        try SmallFile.replace(path, with: Data(lines.joined()))
        return lines.count
    }

    private static func line(_ place: Place) throws -> Data {
        try JSONEncoder().encode(place) + Data("\n".utf8)
    }

    private var failure: DaemonError { DaemonError("\(path): cannot be written: \(String(cString: strerror(errno)))") }
}
