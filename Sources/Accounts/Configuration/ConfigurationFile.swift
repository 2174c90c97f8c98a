import Foundation
package import Surroundings

/// `$XDG_CONFIG_HOME/hydrant/config.toml`. The command keeps the user's comments and order when it adds or removes a
/// domain.
package struct ConfigurationFile: Sendable {
    package let path: String

    package init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(AccountError) {
        path = try Self.folder(.configuration, environment) + "/config.toml"
    }

    /// Hydrant's folder below a base directory.
    package static func folder(
        _ base: BaseDirectory, _ environment: [String: String]
    ) throws(AccountError) -> String {
        guard let path = base.path(in: environment) else { throw AccountError(base.missing) }
        return path + "/hydrant"
    }

    /// A missing file is an empty configuration.
    package func load() throws(AccountError) -> Configuration { try Configuration(try text(), file: path) }

    package func domain(_ name: String) throws(AccountError) -> AccountSettings {
        if let problem = DomainName.problem(name) { throw AccountError(problem) }
        let all = try load().domains
        guard let settings = all[name] else {
            let near = Nearest.of(name, in: Array(all.keys))
            throw AccountError(
                "there is no domain “\(name)”\(near.map { " (is \($0) meant?)" } ?? ""); hydrant domain list shows the domains"
            )
        }
        return settings
    }

    /// Writes the section of a new domain: its store and how to sign in.
    package func add(_ name: String, _ settings: AccountSettings) throws(AccountError) {
        if let problem = DomainName.problem(name) { throw AccountError(problem) }
        var lines = ["[domains.\(name)]"]
        func text(_ key: ConfigurationKey, _ value: String?) {
            if let value { lines.append("\(key.rawValue) = \(Self.quoted(value))") }
        }
        text(.url, settings.url)
        text(.user, settings.user)
        text(.auth, settings.usesToken ? "bearer" : settings.isAnonymous ? "none" : nil)
        text(.certificateAuthority, settings.certificateAuthority)
        text(.endpoint, settings.s3.endpoint)
        text(.region, settings.s3.region)
        if let isPathStyle = settings.s3.isPathStyle { lines.append("path-style = \(isPathStyle)") }
        text(.profile, settings.s3.profile)
        text(.notifications, settings.s3.notifications)
        if settings.s3.isRequesterPays { lines.append("requester-pays = true") }
        try change { (text: String) throws(AccountError) -> String in
            guard try Configuration(text, file: path).domains[name] == nil else {
                throw AccountError("there is a domain “\(name)” already; hydrant domain remove \(name) takes it away")
            }
            let start = text.isEmpty || text.hasSuffix("\n\n") ? text : text + (text.hasSuffix("\n") ? "\n" : "\n\n")
            return start + lines.joined(separator: "\n") + "\n"
        }
    }

    package func remove(_ name: String) throws(AccountError) {
        try change { (text: String) throws(AccountError) -> String in
            guard let section = KeyLines.section(["domains", name], in: text) else {
                throw AccountError("\(path): has no section [domains.\(name)] of its own; remove the domain by hand")
            }
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            // Comments right before the next section belong to that section.
            var end = section.upperBound
            if end < lines.count {
                while end > section.lowerBound + 1, lines[end - 1].hasPrefix("#") || lines[end - 1].isEmpty { end -= 1 }
            }
            lines.removeSubrange(section.lowerBound..<end)
            return lines.joined(separator: "\n")
        }
    }

    /// Gives a domain without a user its user, and the URL of the user's documents.
    package func complete(_ name: String, url: String, user: String) throws(AccountError) {
        try change { (text: String) throws(AccountError) -> String in
            let keys = KeyLines(text)
            guard try Configuration(text, file: path).domains[name]?.user == nil,
                keys.line(of: ["domains", name, ConfigurationKey.user.rawValue]) == nil,
                let line = keys.line(of: ["domains", name, ConfigurationKey.url.rawValue]),
                KeyLines.section(["domains", name], in: text)?.contains(line - 1) == true
            else {
                throw AccountError(
                    "\(path): user and url of \(name) cannot be written there; write them by hand: user = "
                        + "\(Self.quoted(user)), url = \(Self.quoted(url))")
            }
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            lines[line - 1] = "\(ConfigurationKey.url.rawValue) = \(Self.quoted(url))"
            lines.insert("\(ConfigurationKey.user.rawValue) = \(Self.quoted(user))", at: line)
            return lines.joined(separator: "\n")
        }
    }

    // MARK: The file

    private func text() throws(AccountError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            guard access(path, F_OK) != 0 else { throw AccountError("\(path): cannot be read") }
            return ""
        }
        guard let text = String(validating: data, as: UTF8.self) else { throw AccountError("\(path): is not UTF-8") }
        return text
    }

    /// One change at a time: the new file replaces the old one when it is on disk and has no mistake.
    private func change(_ body: (String) throws(AccountError) -> String) throws(AccountError) {
        let folder = (path as NSString).deletingLastPathComponent
        try PrivateFile.makeFolder(folder)
        let lock = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw AccountError("\(folder): cannot be locked") }
        defer { close(lock) }
        let new = try body(try text())
        _ = try Configuration(new, file: path)
        try PrivateFile.write(Array(new.utf8), to: path)
    }

    /// A basic string (TOML 1.0).
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 32 || scalar.value == 127:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
