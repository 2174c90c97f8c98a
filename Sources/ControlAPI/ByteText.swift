package import Foundation

/// File names and paths are bytes on Linux, and need not be UTF-8; what parses command lines and URLs has strings. In such a
/// string a byte that is no UTF-8 is a character that nobody uses (in the last plane for private use), and becomes that byte
/// again where a path is made of it.
package enum ByteText {
    /// Of the byte 0.
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
                // (The bytes of such a character as well: so it comes back as it was.)
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

    /// For people: bytes that are no UTF-8 as U+FFFD.
    package static func shown(_ text: String) -> String {
        isPlain(text) ? text : String(decoding: bytes(text), as: UTF8.self)
    }

    /// In UTF-8 all of them begin with these two bytes, and nothing else that anybody writes does.
    private static func isPlain(_ text: some StringProtocol) -> Bool {
        var before: UInt8 = 0
        for byte in text.utf8 {
            if before == 0xf4 && byte == 0x8f { return !text.unicodeScalars.contains { range.contains($0.value) } }
            before = byte
        }
        return true
    }

    // MARK: Where strings are made

    /// Of this process, with its name.
    package static var arguments: [String] {
        (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0].map { text(of: $0) } }
    }

    package static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return text(of: path)
    }

    /// realpath(3). Nil, with `errno`: it leads nowhere.
    package static func resolved(_ path: String) -> String? {
        let resolved = withPath(path) { realpath($0, nil) }
        guard let resolved else { return nil }
        defer { free(resolved) }
        return text(of: resolved)
    }

    package static func text(of path: UnsafePointer<CChar>) -> String {
        text(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// For a system call.
    package static func withPath<Result>(_ path: String, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes(path) + [0]).withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
    }

    // MARK: URLs

    /// Of a file that is no folder, as far as the URL says.
    package static func url(_ path: String) -> URL {
        if isPlain(path) { return URL(filePath: path, directoryHint: .notDirectory) }
        let full = path.hasPrefix("/") ? path : currentDirectory + "/" + path
        let encoded = bytes(full).map { byte in
            let isPlain = byte == UInt8(ascii: "/") || (byte < 0x80 && CharacterSet.alphanumerics.contains(.init(byte)))
            return isPlain ? String(Unicode.Scalar(byte)) : String(format: "%%%02X", byte)
        }
        return URL(string: "file://" + encoded.joined()) ?? URL(filePath: path, directoryHint: .notDirectory)
    }

    /// Its path.
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
