package import FileProviderTesting
import Foundation

/// A call of a provider's hook, from the daemon's debug log.
package struct LoggedCall: Sendable, Equatable, CustomStringConvertible {
    package var hook: Hook
    /// The path in the mount, or another name that the log has for the item.
    package var item: String
    package var range: Range<Int64>?
    package var description: String { "\(hook) \(item)\(range.map { " \($0)" } ?? "")" }

    /// From a line such as `… debug hydrant: item=a.txt range=0..<6 [SyncEngine] startProvidingItem`.
    init?(line: Substring) {
        guard let bracket = line.range(of: "] ", options: .backwards), line.contains(" debug hydrant"),
            let hook = Hook(rawValue: String(line[bracket.upperBound...]))
        else { return nil }
        self.hook = hook
        let end = line.range(of: " [", options: .backwards)?.lowerBound ?? line.endIndex
        let text = line[..<end]
        if let start = text.range(of: " item=") ?? text.range(of: " identifier=") {
            let rest = text[start.upperBound...]
            let stop = rest.range(of: " range=")?.lowerBound ?? rest.range(of: " items=")?.lowerBound ?? rest.endIndex
            item = String(rest[..<stop])
        } else {
            item = ""
        }
        if let start = text.range(of: " range=") {
            let bounds = text[start.upperBound...].components(separatedBy: "..<").compactMap { Int64($0) }
            if bounds.count == 2 { range = bounds[0]..<bounds[1] }
        }
    }

    static func all(inLog path: String) -> [LoggedCall] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { LoggedCall(line: $0) }
    }
}
