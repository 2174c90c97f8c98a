import Foundation
import Surroundings

/// The part `SCHEME:REST` in `hydrant mount SCHEME:REST MOUNTPOINT`.
public struct StoreLocation: Sendable {
    /// The kind of a provider's locations.
    public enum Kind: String, Sendable, Codable {
        /// A local file or directory: `zip:photos.zip`. Relative paths start from the user's working directory.
        case path
        /// An address on a network: `dav://ada@example.org/documents` (RFC 3986).
        case url
        /// Any other text, unchanged; may be empty: `demo:`.
        case name
    }

    /// The scheme in lower case.
    public let scheme: String
    /// The text after the first colon, as the user wrote it. May contain a password (`//user:password@host`): show
    /// ``canonical`` to people instead.
    public let rest: String
    /// The kind that the provider has chosen.
    public let kind: Kind
    /// The rest as an absolute path, whatever ``kind`` is: relative to the user's working directory, without `.`, `..`
    /// and double slashes, with links resolved as far as they exist (realpath(3)). The path may not exist.
    public let path: String
    /// Identifies the store: `SCHEME:` and the ``path``, the URL or the name. Every spelling of one location gives the
    /// same text: links, relative paths and capital letters in a host's name make no difference. A URL's password, and
    /// query parameters that look like secrets, are left out.
    ///
    /// The name of the domain's state folder derives from it; users see it in `hydrant status`, in the table of mounts
    /// and in the log.
    public let canonical: String

    /// Texts that must appear nowhere.
    let secrets: Secrets

    /// - Parameters:
    ///   - text: `SCHEME:REST`.
    ///   - workingDirectory: the user's, absolute.
    package init(_ text: String, kind: Kind, workingDirectory: String) throws(DaemonError) {
        let (scheme, rest) = try Self.split(text)
        let (shown, secrets) = Secrets.hidden(in: rest)
        switch kind {
        case .path where rest.isEmpty:
            throw DaemonError("\(scheme): no file or directory is named; write \(scheme):/PATH")
        case .url where !rest.hasPrefix("//") || rest.dropFirst(2).first.map { $0 == "/" } ?? true:
            throw DaemonError("\(scheme):\(shown): no host is named; write \(scheme)://HOST/PATH")
        default: break
        }
        self.scheme = scheme
        self.rest = rest
        self.kind = kind
        self.secrets = secrets
        path = Self.resolved(rest, workingDirectory)
        switch kind {
        case .path: canonical = "\(scheme):\(path)"
        case .url: canonical = "\(scheme):\(Self.plain(url: shown))"
        case .name: canonical = "\(scheme):\(shown)"
        }
    }

    /// Returns the scheme in lower case, and the text after the colon (RFC 3986, 3.1).
    package static func split(_ text: String) throws(DaemonError) -> (scheme: String, rest: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let scheme = scheme(text[..<colon]) else {
            throw DaemonError("\(text): not a store; write SCHEME:LOCATION, as in dir:/PATH")
        }
        return (scheme, String(text[text.index(after: colon)...]))
    }

    private static func scheme(_ text: Substring) -> String? {
        let isWord = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isWord, text.first?.isLetter == true else { return nil }
        return text.lowercased()
    }

    /// `SCHEME:REST` without the secrets in it.
    package static func shown(_ text: String) -> String {
        guard let (scheme, rest) = try? split(text) else { return text }
        return "\(scheme):\(Secrets.hidden(in: rest).shown)"
    }

    // MARK: Canonical form

    /// The name of the domain's folder: readable, and unique to the store.
    package var domainName: String {
        let rest = canonical.dropFirst(scheme.count + 1)
        let last = rest.split(separator: "/").last.map(String.init) ?? "root"
        let readable = String(last.map { $0.isLetter || $0.isNumber || "-_.".contains($0) ? $0 : "_" }.prefix(40))
        return "\(scheme)-\(readable)-\(StableHash(rest.utf8).text)"
    }

    /// Host names are lower-case, and paths have no slash at the end.
    private static func plain(url: String) -> String {
        let start = url.index(url.startIndex, offsetBy: 2)
        let end = url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex
        let host = url[start..<end].lastIndex(of: "@").map { url.index(after: $0) } ?? start
        var path = url[end...]
        while path.hasSuffix("/") { path.removeLast() }
        return url[..<host] + url[host..<end].lowercased() + path
    }

    /// Resolves the folder above a path that does not exist.
    private static func resolved(_ path: String, _ workingDirectory: String) -> String {
        guard !path.isEmpty else { return workingDirectory }
        let full = path.hasPrefix("/") ? path : workingDirectory + "/" + path
        if let there = followed(full) { return there }
        var parts: [Substring] = []
        for part in full.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        let above = "/" + parts.dropLast().joined(separator: "/")
        let folder = followed(above) ?? above
        return (folder == "/" ? "" : folder) + "/" + (parts.last ?? "")
    }

    private static func followed(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
