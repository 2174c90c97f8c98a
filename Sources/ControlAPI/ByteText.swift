package import Foundation

/// Carries file names that are not UTF-8 through strings, as which command lines and URLs are parsed. A byte that is
/// not UTF-8 becomes a character of the last private use plane, and becomes that byte again in a path for a system
/// call.
package enum ByteText {
    /// The character for the byte 0.
    private static let first: UInt32 = 0x10_fe00
    private static let range = first...(first + 0xff)

    private static func character(_ byte: UInt8) -> Unicode.Scalar { Unicode.Scalar(first + UInt32(byte))! }

    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let all = Array(bytes)
        if let text = String(validating: all, as: UTF8.self), isPlain(text) { return text }
        var text = String.UnicodeScalarView()
        var rest = all[...]
        while let lead = rest.first {
            let length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
            if let one = String(validating: rest.prefix(length), as: UTF8.self), isPlain(one) {
                text.append(contentsOf: one.unicodeScalars)
                rest = rest.dropFirst(length)
            } else {
                // Also the bytes of such a character in the input, so that these come back unchanged.
                text.append(character(lead))
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }

    package static func bytes(_ text: some StringProtocol) -> [UInt8] {
        if isPlain(text) { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar in
            range.contains(scalar.value) ? [UInt8(scalar.value - first)] : Array(String(scalar).utf8)
        }
    }

    /// For people: shows each byte that is not UTF-8 as U+FFFD.
    package static func shown(_ text: String) -> String {
        isPlain(text) ? text : String(decoding: bytes(text), as: UTF8.self)
    }

    /// In UTF-8 all these characters begin with the same two bytes, which occur in no other text in use.
    private static func isPlain(_ text: some StringProtocol) -> Bool {
        var before: UInt8 = 0
        for byte in text.utf8 {
            if before == 0xf4 && byte == 0x8f { return !text.unicodeScalars.contains { range.contains($0.value) } }
            before = byte
        }
        return true
    }

    // MARK: Strings from bytes

    /// This process's arguments, its name included.
    package static var arguments: [String] {
        (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0].map { text(of: $0) } }
    }

    package static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return text(of: path)
    }

    /// realpath(3). Nil, with `errno`, if it fails.
    package static func resolved(_ path: String) -> String? {
        let resolved = withPath(path) { realpath($0, nil) }
        guard let resolved else { return nil }
        defer { free(resolved) }
        return text(of: resolved)
    }

    package static func text(of path: UnsafePointer<CChar>) -> String {
        text(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// Calls `body` with the path's bytes, for a system call.
    package static func withPath<Result>(_ path: String, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes(path) + [0]).withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
    }

    // MARK: URLs

    /// The URL of a path, without a directory hint.
    package static func url(_ path: String) -> URL {
        if isPlain(path) { return URL(filePath: path, directoryHint: .notDirectory) }
        let full = path.hasPrefix("/") ? path : currentDirectory + "/" + path
        let encoded = bytes(full).map { byte in
            let isPlain = byte == UInt8(ascii: "/") || (byte < 0x80 && CharacterSet.alphanumerics.contains(.init(byte)))
            return isPlain ? String(Unicode.Scalar(byte)) : String(format: "%%%02X", byte)
        }
        return URL(string: "file://" + encoded.joined()) ?? URL(filePath: path, directoryHint: .notDirectory)
    }

    /// The URL's path.
    package static func text(of url: URL) -> String {
        var (found, rest) = ([UInt8](), Array(url.path(percentEncoded: true).utf8)[...])
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                found.append(value)
                rest = rest.dropFirst(2)
            } else {
                found.append(byte)
            }
        }
        return text(found)
    }
}
