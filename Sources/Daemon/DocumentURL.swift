import FileProvider
import Foundation

/// Converts between file URLs of documents and names below the mount point. Names are bytes: bytes that are no UTF-8,
/// and characters with a meaning in URLs, are percent-encoded (RFC 3986, 2.1). Accesses no file.
struct DocumentURL: Sendable {
    /// Ends with a slash.
    let root: URL
    private let rootPath: [UInt8]
    private let mountPoint: String

    init(mountPoint: String) {
        self.mountPoint = mountPoint
        rootPath = Array(mountPoint.utf8)
        root = Self.url(rootPath, isFolder: true)
    }

    /// - Throws: ``FileProviderError/Code/invalidName`` for a URL outside the mount point.
    func names(of url: URL) throws(FileProviderError) -> [Filename] {
        guard url.isFileURL, url.host() ?? "" == "" || url.host() == "localhost", url.query() == nil,
            url.fragment() == nil
        else { throw FileProviderError(.invalidName, "\(url.absoluteString): not a file URL") }
        var names = try split(url.absoluteURL.path(percentEncoded: true), of: url)
        let above = rootPath.split(separator: UInt8(ascii: "/")).map { Filename(bytes: $0) }
        guard names.starts(with: above) else {
            throw FileProviderError(.invalidName, "\(url.absoluteString): is not in \(mountPoint)")
        }
        names.removeFirst(above.count)
        return names
    }

    func url(of names: [Filename]) -> URL {
        if names.isEmpty { return root }
        let above = rootPath == [UInt8(ascii: "/")] ? [] : rootPath
        return Self.url(names.reduce(above) { $0 + [UInt8(ascii: "/")] + $1.bytes }, isFolder: false)
    }

    private func split(_ path: String, of url: URL) throws(FileProviderError) -> [Filename] {
        var names: [Filename] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let bytes = Self.decode(Array(part)) else {
                throw FileProviderError(.invalidName, "\(url.absoluteString): has a % without two hexadecimal digits")
            }
            let name = Filename(bytes: bytes)
            // This refuses ".." too: the target of ".." depends on links.
            if let problem = name.problem {
                throw FileProviderError(.invalidName, "\(url.absoluteString): \(problem)")
            }
            names.append(name)
        }
        return names
    }

    // MARK: Percent-encoding

    private static let hex = Array("0123456789ABCDEF".utf8)
    /// RFC 3986's unreserved characters, and those that GLib's g_filename_to_uri leaves in a path.
    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,/:=@".utf8)

    static func encode(_ path: [UInt8]) -> String {
        var encoded: [UInt8] = []
        for byte in path {
            if plain.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }

    private static func url(_ path: [UInt8], isFolder: Bool) -> URL {
        let text = "file://" + encode(path)
        // The text has only characters that are valid in every URL.
        return URL(string: isFolder && !text.hasSuffix("/") ? text + "/" : text)!
    }
}
