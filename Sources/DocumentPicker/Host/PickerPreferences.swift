import Foundation
import Surroundings

/// The user's preferences for pickers: the order of providers, providers switched off, and the provider used last.
///
/// Kept in `$XDG_STATE_HOME/hydrant/pickers.json`.
public struct PickerPreferences: Sendable, Codable, Equatable {
    /// ``PickerProvider/id``s; others follow by name.
    public var order: [String] = []
    /// ``PickerProvider/id``s of providers that are not offered.
    public var off: Set<String> = []
    /// The provider used last, by mode.
    var last: [String: String] = [:]

    private static var folder: String? { BaseDirectory.state.path().map { $0 + "/hydrant" } }

    /// The saved preferences, or the defaults.
    public static func load() -> PickerPreferences {
        let data = folder.flatMap { FileManager.default.contents(atPath: $0 + "/pickers.json") }
        return data.flatMap { try? JSONDecoder().decode(PickerPreferences.self, from: $0) } ?? PickerPreferences()
    }

    /// Replaces the saved preferences.
    public func save() throws {
        guard let folder = Self.folder else { throw DocumentPickerError(BaseDirectory.state.missing) }
        let path = folder + "/pickers.json"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(self)
        do throws(SmallFile.Failure) { try SmallFile.replace(path, with: data) } catch {
            throw DocumentPickerError("\(error.path): cannot be written: \(error.reason)")
        }
    }

    /// In the user's order, without those that are switched off.
    public func arranged(_ providers: [PickerProvider]) -> [PickerProvider] {
        let places = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return providers.filter { !off.contains($0.id) }.enumerated().sorted { one, other in
            (places[one.element.id] ?? .max, one.offset) < (places[other.element.id] ?? .max, other.offset)
        }.map(\.element)
    }

    func last(_ mode: DocumentPickerMode) -> String? { last[mode.rawValue] }

    /// Saves the provider used last; ignores errors.
    static func used(_ id: String, for mode: DocumentPickerMode) {
        var preferences = load()
        if preferences.last[mode.rawValue] == id { return }
        preferences.last[mode.rawValue] = id
        try? preferences.save()
    }
}
