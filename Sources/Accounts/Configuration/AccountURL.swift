import Foundation
package import HTTPTransport

/// Parses the location of a domain's documents, as people write it: the URL of a WebDAV folder, or `SCHEME:LOCATION` of
/// another store.
package enum StoreURL {
    /// - Returns: the location as `config.toml` keeps it, and the user's name in a WebDAV folder's URL.
    package static func parse(_ text: String) throws(AccountError) -> (url: String, user: String?, isWebDAV: Bool) {
        guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
            throw AccountError(
                "“\(text)”: is not the location of a store; write https://HOST/PATH, s3://BUCKET/PREFIX or "
                    + "SCHEME:LOCATION")
        }
        if isWebDAV(text) {
            let (_, user, url) = try AccountURL.parse(text)
            return (url, user, true)
        }
        let scheme = text[..<colon].lowercased()
        let isWord = scheme.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isWord, scheme.first?.isLetter == true else {
            throw AccountError("“\(text)”: does not begin with the scheme of a store")
        }
        let rest = text[text.index(after: colon)...]
        if rest.hasPrefix("//") {
            let host = rest.dropFirst(2).prefix { !"/?#".contains($0) }
            guard host.firstIndex(of: "@").map({ !host[..<$0].contains(":") }) ?? true else {
                throw AccountError(
                    "a password must not be in a URL, where others can read it; hydrant login asks for it")
            }
        }
        return ("\(scheme):\(rest)", nil, false)
    }

    /// By its scheme.
    package static func isWebDAV(_ url: String) -> Bool {
        guard let mark = url.range(of: "://") else { return false }
        return ["https", "webdavs", "davs", "http", "webdav", "dav"].contains(url[..<mark.lowerBound].lowercased())
    }

    package static func isS3(_ url: String) -> Bool { url.lowercased().hasPrefix("s3://") }
}

/// Parses the URL of a WebDAV folder, as people write it.
package enum AccountURL {
    /// `https`, `http`, and their other names: `webdavs`, `davs`, `webdav`, `dav`.
    ///
    /// - Returns: the location, the user's name in the URL, and the URL with its usual scheme and without the name.
    package static func parse(_ text: String) throws(AccountError) -> (
        location: HTTPLocation, user: String?, url: String
    ) {
        guard let mark = text.range(of: "://") else {
            throw AccountError("“\(text)”: is not a URL; write https://HOST/PATH")
        }
        let scheme: String
        switch text[..<mark.lowerBound].lowercased() {
        case "https", "webdavs", "davs": scheme = "https://"
        case "http", "webdav", "dav": scheme = "http://"
        default: throw AccountError("“\(text)”: Hydrant speaks WebDAV over https:// and http://")
        }
        var rest = text[mark.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        var user: String?
        if let at = rest[..<end].lastIndex(of: "@") {
            let info = rest[..<at]
            guard !info.contains(":") else {
                throw AccountError(
                    "a password must not be in a URL, where others can read it; hydrant login asks for it")
            }
            user = String(info).removingPercentEncoding
            rest = rest[rest.index(after: at)...]
        }
        guard let location = HTTPLocation(scheme + rest), location.query == nil else {
            throw AccountError("“\(scheme)\(rest)”: is not the URL of a folder; write https://HOST/PATH")
        }
        let folder = location.asFolder(true)
        return (folder, user, folder.url)
    }
}
