import Foundation

/// What the user wants of pickers: an order of providers, some switched off; and which one was used last.
///
/// Kept in `$XDG_STATE_HOME/hydrant/pickers.json`.
public struct PickerPreferences: Sendable, Codable, Equatable {
    /// ``PickerProvider/id``s; others follow by name.
    public var order: [String] = []
    /// Not offered.
    public var off: Set<String> = []
    /// By mode.
    var last: [String: String] = [:]

    private static var path: String { folder + "/pickers.json" }

    /// Source: XDG Base Directory Specification.
    private static var folder: String {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["XDG_STATE_HOME"], folder.hasPrefix("/") { return folder + "/hydrant" }
        return (environment["HOME"] ?? "") + "/.local/state/hydrant"
    }

    /// As they are kept; the usual ones if there are none.
    public static func load() -> PickerPreferences {
        let data = FileManager.default.contents(atPath: path)
        return data.flatMap { try? JSONDecoder().decode(PickerPreferences.self, from: $0) } ?? PickerPreferences()
    }

    /// Replaces what is kept.
    public func save() throws {
        try FileManager.default.createDirectory(atPath: Self.folder, withIntermediateDirectories: true)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let new = Self.path + ".\(getpid())"
        try encoder.encode(self).write(to: URL(filePath: new, directoryHint: .notDirectory))
        guard rename(new, Self.path) == 0 else { throw FileCopy.failure(Self.path) }
    }

    /// In the user's order, without those that are switched off.
    public func arranged(_ providers: [PickerProvider]) -> [PickerProvider] {
        let places = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return providers.filter { !off.contains($0.id) }.enumerated().sorted { one, other in
            (places[one.element.id] ?? .max, one.offset) < (places[other.element.id] ?? .max, other.offset)
        }.map(\.element)
    }

    func last(_ mode: DocumentPickerMode) -> String? { last[mode.rawValue] }

    /// Noted for the next time; that it cannot be is no reason to fail.
    static func used(_ id: String, for mode: DocumentPickerMode) {
        var preferences = load()
        if preferences.last[mode.rawValue] == id { return }
        preferences.last[mode.rawValue] = id
        try? preferences.save()
    }
}
