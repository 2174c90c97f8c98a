package import FileProvider

/// `REMOTE:PATH`, as rclone's commands take it.
package struct RcloneAddress: Sendable, Hashable {
    /// The text as rclone takes it.
    let fs: String
    /// The name in rclone's configuration; nil: the remote is made from the text alone (`:sftp,host=…:`).
    let configured: String?

    /// - Throws: for a text that names no remote, with what to write instead.
    package init(_ text: String) throws(FileProviderError) {
        guard let colon = Self.colon(text), colon > text.startIndex else {
            throw FileProviderError(
                .invalidName, "“\(text)”: names no remote of rclone; write rclone:REMOTE:PATH (rclone listremotes)")
        }
        // (rclone finds the end of a remote in a URL by this character.)
        guard !text.contains("]") else {
            throw FileProviderError(.invalidName, "“\(text)”: has a “]” in it; mount a folder above it")
        }
        fs = text
        let name = text[..<colon].prefix { $0 != "," }
        configured = name.hasPrefix(":") ? nil : String(name)
    }

    /// The colon that ends the remote's name and options, whose values may be in quotation marks.
    ///
    /// Source: rclone.org/docs (“Connection strings”).
    private static func colon(_ text: String) -> String.Index? {
        var quote: Character?
        var index = text.startIndex
        if text.hasPrefix(":") { index = text.index(after: index) }
        while index < text.endIndex {
            let character = text[index]
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "\"" || character == "'" {
                quote = character
            } else if character == ":" {
                return index
            } else if character == "/" && !text[..<index].contains(",") {
                return nil
            }
            index = text.index(after: index)
        }
        return nil
    }

    /// With another option of the remote's kind.
    func adding(_ option: String) -> String {
        guard let colon = Self.colon(fs) else { return fs }
        return fs[..<colon] + "," + option + fs[colon...]
    }
}
