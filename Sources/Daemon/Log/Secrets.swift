import Foundation

/// The secrets in a store's location, to be removed from everything that is written or shown.
struct Secrets: Sendable, Equatable {
    /// As the location spells them.
    private(set) var values: [String] = []

    /// Parts of names of query parameters and options whose values are secrets.
    private static let secretNameParts = ["pass", "pwd", "secret", "token", "key", "sig", "credential", "auth"]
    /// Ends of names of options whose values only say where a secret is, or which.
    private static let harmlessEnds = ["_file", "_id", "_type", "_version"]

    /// Returns the location without its scheme and secrets. Secrets are the password before the host (RFC 3986, 3.2.1)
    /// and the values of query parameters and of options (`NAME,OPTION=VALUE:PATH`) with telling names.
    static func hidden(in rest: String) -> (shown: String, secrets: Secrets) {
        var secrets = Secrets()
        // A path has no authority.
        guard rest.hasPrefix("//") || !rest.hasPrefix("/") else { return (rest, secrets) }
        if !rest.hasPrefix("//"), let shown = secrets.hideOptions(in: rest) { return (shown, secrets) }
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

    /// A connection string of rclone's, without the options that are secrets; nil: the text has no options.
    ///
    /// Source: rclone.org/docs (“Connection strings”).
    private mutating func hideOptions(in rest: String) -> String? {
        let start = rest.hasPrefix(":") ? rest.index(after: rest.startIndex) : rest.startIndex
        guard let comma = rest[start...].firstIndex(where: { ",:/@".contains($0) }), rest[comma] == "," else {
            return nil
        }
        var shown = String(rest[..<comma])
        var left = rest[comma...]
        var hasValue = false
        while left.first == "," {
            let option = Self.option(left)
            left = left[option.endIndex...]
            let parts = option.dropFirst().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            hasValue = hasValue || parts.count == 2
            let isSecret =
                Self.secretNameParts.contains(where: name.contains)
                && !Self.harmlessEnds.contains(where: name.hasSuffix)
            guard parts.count == 2, isSecret else {
                shown += option
                continue
            }
            add(parts[1])
            if let quote = parts[1].first, "'\"".contains(quote) {
                add(Substring(parts[1].dropFirst().dropLast().replacing("\(quote)\(quote)", with: "\(quote)")))
            }
        }
        return hasValue ? shown + left : nil
    }

    /// `,NAME=VALUE` at the beginning of the text. A comma or a colon in quotation marks belongs to the value.
    private static func option(_ text: Substring) -> Substring {
        var quote: Character?
        for index in text.indices.dropFirst() {
            let character = text[index]
            if quote != nil {
                if character == quote { quote = nil }
            } else if "'\"".contains(character), ["=", character].contains(text[text.index(before: index)]) {
                // (Twice: one in the value.)
                quote = character
            } else if character == "," || character == ":" {
                return text[..<index]
            }
        }
        return text
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
