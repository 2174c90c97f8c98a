import ControlAPI
import Foundation

/// What commands print.
enum Output {
    static func json(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes, .sortedKeys]
        if let data = try? encoder.encode(value) { print(String(decoding: data, as: UTF8.self)) }
    }

    static func line(_ item: ItemStatus) -> String {
        var marks: [String] = []
        if item.modified { marks.append("modified") }
        if item.pinned { marks.append("pinned") }
        if item.excluded { marks.append("excluded") }
        let size = item.kind == .document ? "\(item.bytesDownloaded)/\(item.size)" : item.kind.rawValue
        let state = item.state.rawValue.padding(toLength: 12, withPad: " ", startingAt: 0)
        var line = "\(state)\(size.padding(toLength: 24, withPad: " ", startingAt: 0))\(item.path)"
        if !marks.isEmpty { line += "  [\(marks.joined(separator: ", "))]" }
        if let error = item.error { line += "\n            \(error)" }
        return line
    }

    static func line(_ change: PendingChange) -> String {
        var line = "\(change.what.padding(toLength: 9, withPad: " ", startingAt: 0))\(change.path)"
        if let error = change.error { line += "  (\(error)" + next(change.nextTry) + ")" }
        return line
    }

    private static func next(_ moment: Double?) -> String {
        guard let moment else { return "" }
        return "; next try in \(max(0, Int(moment - Date().timeIntervalSince1970))) s"
    }

    static func changes(_ count: Int) -> String { count == 1 ? "1 change is" : "\(count) changes are" }

    static func bytes(_ count: Int64) -> String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(count)
        var unit = 0
        while value >= 1024 && unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(count) bytes" : String(format: "%.1f %@", value, units[unit])
    }
}
