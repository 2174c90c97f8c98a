package import FileProvider

/// `REMOTE:PATH`, as rclone's commands take it.
package struct RcloneAddress: Sendable, Hashable {
    /// The text as rclone takes it.
    let fs: String
    /// The name in rclone's configuration; nil: the remote is made from the text alone (`:sftp,host=…:`).
    let configured: String?

    /// - Throws: for a text that names no remote, with what to write instead.
    package init(_ text: String) throws(FileProviderError) {
        if let option = Self.secretOption(text) {
            // (Not the text: it is shown, and logged.)
            throw FileProviderError(
                .invalidName,
                "rclone: every user of this machine could see the option “\(option)” of the remote; put it into rclone's "
                    + "configuration (rclone config), and mount the remote by its name there")
        }
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

    /// The name of an option that has a secret in it; nil: none.
    private static func secretOption(_ text: String) -> String? {
        let end = colon(text) ?? text.endIndex
        var (quote, name, value) = (Character?.none, "", String?.none)
        var found: String?
        func note() {
            if found == nil, let value, isSecret(name.lowercased(), value.lowercased()) { found = name }
        }
        for character in text[..<end] {
            if let open = quote {
                if character == open { quote = nil }
                value?.append(character)
            } else if character == "," {
                note()
                (name, value) = ("", nil)
            } else if let given = value {
                if given.isEmpty, "'\"".contains(character) { quote = character }
                value = given + String(character)
            } else if character == "=" {
                value = ""
            } else {
                name.append(character)
            }
        }
        note()
        return found
    }

    private static func isSecret(_ name: String, _ value: String) -> Bool {
        if ["", "true", "false"].contains(value) { return false }
        // A password in a URL.
        if let host = value.firstRange(of: "//"), let at = value[host.upperBound...].firstIndex(of: "@"),
            !value[host.upperBound..<at].contains("/")
        {
            return true
        }
        if ["_file", "_id", "_type", "_version"].contains(where: name.hasSuffix) { return false }
        if name.hasSuffix("_url") { return name.contains("sas") }
        return secretNames.contains(where: name.contains)
    }

    /// Parts of the names of rclone's options that keep secrets.
    private static let secretNames = [
        "pass", "secret", "token", "key", "credential", "cookie", "connection_string", "auth_code", "headers", "otp",
    ]

    /// With another option of the remote's kind.
    func adding(_ option: String) -> String {
        guard let colon = Self.colon(fs) else { return fs }
        return fs[..<colon] + "," + option + fs[colon...]
    }
}
