import Foundation

/// A place on a server: the scheme, host and port, and a path as decoded components.
///
/// Components are bytes: names are those of the server, without Unicode normalisation.
package struct HTTPLocation: Hashable, Sendable {
    /// A server; a credential is for one origin only.
    package struct Origin: Hashable, Sendable, CustomStringConvertible {
        package let isSecure: Bool
        /// In lower case; an IPv6 address in brackets.
        package let host: String
        package let port: Int

        package var description: String {
            let scheme = isSecure ? "https" : "http"
            return port == (isSecure ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
        }
    }

    package let origin: Origin
    package private(set) var components: [[UInt8]]
    /// Whether the path ends with a slash, as that of a folder.
    package private(set) var isFolder: Bool
    /// The text after the question mark, undecoded.
    package private(set) var query: String?

    package init(origin: Origin, components: [[UInt8]], isFolder: Bool = true, query: String? = nil) {
        self.origin = origin
        self.components = components
        self.isFolder = isFolder
        self.query = query
    }

    /// An absolute `http` or `https` URL; a user name or password in it is refused: nil.
    package init?(_ url: String) {
        guard let colon = url.range(of: "://") else { return nil }
        let isSecure: Bool
        switch url[..<colon.lowerBound].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        let rest = url[colon.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let origin = Origin(authority: rest[..<end], isSecure: isSecure) else { return nil }
        self.init(path: rest[end...], on: origin)
    }

    /// A path with its query, as in an `href` or a `Location`; dot segments are removed (RFC 3986, 5.2.4).
    package init?(path: Substring, on origin: Origin) {
        let whole = path.utf8.prefix { $0 != UInt8(ascii: "#") }
        let split = whole.firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
        var components: [[UInt8]] = []
        var isFolder = true
        for part in whole[..<split].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            isFolder = part.isEmpty
            if part.isEmpty { continue }
            guard let name = PercentCoding.decode(part) else { return nil }
            switch name {
            case [UInt8(ascii: ".")]: isFolder = true
            case [UInt8(ascii: "."), UInt8(ascii: ".")]:
                _ = components.popLast()
                isFolder = true
            default: components.append(name)
            }
        }
        self.init(
            origin: origin, components: components, isFolder: isFolder,
            query: split < whole.endIndex ? String(Substring(whole[whole.index(after: split)...])) : nil)
    }

    /// Resolves a reference in an answer (RFC 3986, 5.2): a URL, a path, or a name.
    package func resolve(_ reference: String) -> HTTPLocation? {
        let reference = reference.trimmingASCIIWhitespace()
        // The usual form in listings.
        if reference.utf8.first == UInt8(ascii: "/"), reference.utf8.dropFirst().first != UInt8(ascii: "/") {
            return HTTPLocation(path: reference[...], on: origin)
        }
        if reference.hasPrefix("//") { return HTTPLocation((origin.isSecure ? "https:" : "http:") + reference) }
        if reference.contains("://"), let place = HTTPLocation(reference) { return place }
        guard !reference.prefix(while: { $0 != "/" }).contains(":") else { return nil }
        let base = isFolder ? components : Array(components.dropLast())
        let start = base.reduce(into: "/") { $0 += PercentCoding.encode($1) + "/" }
        return HTTPLocation(path: (start + reference)[...], on: origin)
    }

    package func appending(_ name: some Sequence<UInt8>, isFolder: Bool = false) -> HTTPLocation {
        HTTPLocation(origin: origin, components: components + [Array(name)], isFolder: isFolder)
    }

    package func asFolder(_ isFolder: Bool) -> HTTPLocation {
        var place = self
        place.isFolder = isFolder || components.isEmpty
        return place
    }

    /// The parent folder; the topmost folder itself if there is none.
    package var folder: HTTPLocation { HTTPLocation(origin: origin, components: components.dropLast()) }

    /// The components below `other`; nil: not below it.
    package func components(below other: HTTPLocation) -> ArraySlice<[UInt8]>? {
        components.starts(with: other.components) ? components.dropFirst(other.components.count) : nil
    }

    /// The path for a request.
    package var path: String {
        let path = "/" + components.map { PercentCoding.encode($0) }.joined(separator: "/")
        return isFolder && !components.isEmpty ? path + "/" : path
    }

    package var url: String { origin.description + path + (query.map { "?" + $0 } ?? "") }
}

extension HTTPLocation: CustomStringConvertible {
    /// For people: without percent-encoding, and without the query, which may hold a key.
    package var description: String {
        let path = components.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
        return origin.description + (path.isEmpty ? "/" : path)
    }
}

extension HTTPLocation.Origin {
    init?(authority: Substring, isSecure: Bool) {
        guard !authority.isEmpty, !authority.contains("@"), authority.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            return nil
        }
        var host = authority
        var port = isSecure ? 443 : 80
        let afterAddress = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.startIndex
        guard let afterAddress else { return nil }
        if let colon = authority[afterAddress...].lastIndex(of: ":") {
            host = authority[..<colon]
            let digits = authority[authority.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = UInt16(digits), number > 0 else { return nil }
                port = Int(number)
            }
        }
        guard !host.isEmpty else { return nil }
        self.init(isSecure: isSecure, host: host.lowercased(), port: port)
    }
}

extension String {
    package func trimmingASCIIWhitespace() -> String {
        let bytes = utf8
        func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        let end = bytes.index(after: last)
        return first == startIndex && end == endIndex ? self : String(self[first..<end])
    }
}
