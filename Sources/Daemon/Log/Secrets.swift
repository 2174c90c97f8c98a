import Foundation

/// The secrets in a store's location, to be removed from everything that is written or shown.
struct Secrets: Sendable, Equatable {
    /// As the location spells them.
    private(set) var values: [String] = []

    /// Parts of names of query parameters whose values are secrets.
    private static let secretNameParts = ["pass", "pwd", "secret", "token", "key", "sig", "credential", "auth"]

    /// Returns the location without its scheme and secrets. Secrets are the password before the host (RFC 3986, 3.2.1)
    /// and the values of query parameters with telling names.
    static func hidden(in rest: String) -> (shown: String, secrets: Secrets) {
        var secrets = Secrets()
        // A path has no authority.
        guard rest.hasPrefix("//") || !rest.hasPrefix("/") else { return (rest, secrets) }
        let start = rest.hasPrefix("//") ? rest.index(rest.startIndex, offsetBy: 2) : rest.startIndex
        let end = rest[start...].firstIndex { "/?#".contains($0) } ?? rest.endIndex
        var shown = String(rest[..<start])
        let authority = rest[start..<end]
        if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
            secrets.add(authority[authority.index(after: colon)..<at])
            shown += authority[..<colon] + authority[at...]
        } else {
            shown += authority
        }
        let tail = rest[end...]
        guard rest.hasPrefix("//"), let mark = tail.firstIndex(of: "?") else { return (shown + tail, secrets) }
        shown += tail[..<mark]
        let fragment = tail[mark...].firstIndex(of: "#") ?? tail.endIndex
        let kept = tail[tail.index(after: mark)..<fragment].split(separator: "&").filter { item in
            let parts = item.split(separator: "=", maxSplits: 1)
            guard let name = parts.first?.lowercased(), secretNameParts.contains(where: name.contains) else {
                return true
            }
            if parts.count == 2 { secrets.add(parts[1]) }
            return false
        }
        if !kept.isEmpty { shown += "?" + kept.joined(separator: "&") }
        return (shown + tail[fragment...], secrets)
    }

    private mutating func add(_ value: Substring) {
        guard !value.isEmpty else { return }
        values.append(String(value))
        // A provider may show the decoded secret.
        if let meant = String(value).removingPercentEncoding, meant != value { values.append(meant) }
    }

    /// Returns the text without the secrets. Very short secrets are removed only before a host: elsewhere they would
    /// remove parts of ordinary words.
    func scrubbed(_ text: String) -> String {
        var text = text
        for value in values {
            text =
                value.utf8.count < 4
                ? text.replacing(":\(value)@", with: "@") : text.replacing(value, with: "…")
        }
        return text
    }
}
