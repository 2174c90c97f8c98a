import Foundation
package import HTTPTransport

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
