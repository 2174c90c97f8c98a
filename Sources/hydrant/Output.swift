import ControlAPI
import Foundation
import Surroundings

/// The text that commands print.
enum Output {
    /// - Parameter oneLine: for a stream of values (JSON Lines).
    static func json(_ value: some Encodable, oneLine: Bool = false) -> JSONText {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        if !oneLine { encoder.outputFormatting.insert(.prettyPrinted) }
        return JSONText((try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }

    static func lines(_ item: ItemStatus) -> [String] {
        var marks: [String] = []
        if item.modified { marks.append("modified") }
        if item.pinned { marks.append("pinned") }
        if item.excluded { marks.append("excluded") }
        let size = item.kind == .document ? "\(item.bytesDownloaded)/\(item.size)" : item.kind.rawValue
        let state = item.state.rawValue.padding(toLength: 12, withPad: " ", startingAt: 0)
        var line = "\(state)\(size.padding(toLength: 24, withPad: " ", startingAt: 0))\(item.path)"
        if !marks.isEmpty { line += "  [\(marks.joined(separator: ", "))]" }
        return [line] + (item.error.map { [String(repeating: " ", count: 12) + $0] } ?? [])
    }

    static func lines(_ change: PendingChange) -> [String] {
        var line = "\(change.what.padding(toLength: 9, withPad: " ", startingAt: 0))\(change.path)"
        if let error = change.error { line += "  (\(error)" + next(change.nextTry) + ")" }
        guard let remedy = change.remedy else { return [line] }
        return [line, String(repeating: " ", count: 9) + "refused; \(remedy), or discard the change: hydrant discard"]
    }

    static func line(_ disk: DiskUse) -> String {
        var line = "\(bytes(disk.here)) here"
        if let limit = disk.limit { line += " of at most \(bytes(limit))" }
        if disk.pinnedToCome > 0 { line += ", \(bytes(disk.pinnedToCome)) pinned still to come" }
        return line + "; \(bytes(disk.free)) of the disk free, at least \(bytes(disk.minimumFree)) to stay free"
    }

    static func line(_ readAhead: ReadAheadUse) -> String {
        "\(bytes(readAhead.downloaded)) read ahead, of these \(bytes(readAhead.unused)) not opened"
    }

    static func line(_ store: StoreUse) -> String {
        guard let total = store.total else { return "\(bytes(store.used)) used in the store" }
        return "\(bytes(store.used)) of \(bytes(total)) used in the store"
    }

    static func line(_ transfer: RunningTransfer) -> String {
        let what = transfer.direction.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
        return "\(what)\(transfer.path)  \(share(transfer.bytes, transfer.total))"
    }

    /// Nil when nothing is limited.
    static func limits(_ settings: DomainSettings) -> String? {
        var parts: [String] = []
        if let rate = settings.downloadLimit { parts.append("downloads at most \(bytes(rate))/s") }
        if let rate = settings.uploadLimit { parts.append("uploads at most \(bytes(rate))/s") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    static func share(_ done: Int64, _ total: Int64, percent isWanted: Bool = true) -> String {
        "\(bytes(done)) of \(bytes(total))" + (isWanted && total > 0 ? " (\(percent(done, total)) %)" : "")
    }

    static func percent(_ done: Int64, _ total: Int64) -> Int {
        total > 0 ? Int(min(1, Double(done) / Double(total)) * 100) : 100
    }

    private static func next(_ moment: Double?) -> String {
        guard let moment else { return "" }
        return "; next try in \(max(0, Int64(bounding: moment - Date().timeIntervalSince1970))) s"
    }

    /// How many items, since when, and what to do.
    static func lines(_ held: HeldDeletionsStatus, _ mountPoint: String) -> [String] {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm"
        let moment = formatter.string(from: Date(timeIntervalSince1970: held.since))
        var lines = [
            "  deletions held: the store has deleted \(items(held.items)) since \(moment); they stay here until"
        ]
        lines.append("    hydrant resolve --keep theirs \(mountPoint)  carries the deletion out")
        let left = held.incomplete > 0 ? " (except \(items(held.incomplete)) whose bytes are not all here)" : ""
        lines.append("    hydrant resolve --keep mine \(mountPoint)  puts them back into the store\(left)")
        lines.append("    or the store has them again")
        return lines
    }

    static func items(_ count: Int) -> String { count == 1 ? "1 item" : "\(count) items" }

    /// Nil: the daemon has not asked the store yet.
    static func line(_ connection: ConnectionStatus, _ domain: String) -> String? {
        guard let since = connection.since else { return nil }
        let moment = Date(timeIntervalSince1970: since).formatted(
            Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateSeparator(.dash).dateTimeSeparator(
                .space
            )
            .time(includingFractionalSeconds: false))
        if connection.isOnline { return "online since \(moment)" }
        return "offline since \(moment): \(connection.reason ?? "the store does not answer")"
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
