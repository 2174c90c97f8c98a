import Foundation
import TOMLKit

/// An error in a configuration or an account, for people.
package struct AccountError: Error, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// One domain, as `config.toml` has it.
package struct AccountSettings: Sendable, Equatable {
    package var url = ""
    /// The user's name on the server; for S3, the access key.
    package var user: String?
    /// Bearer authentication instead of Basic.
    package var usesToken = false
    /// Nobody signs in: a public store, mounted read-only.
    package var isAnonymous = false
    /// For S3.
    package var s3 = S3Options()
    package var passwordCommand: [String]?
    package var certificateAuthority: String?
    package var mountpoint: String?
    package var isReadOnly = false
    /// The values of keys that are options of `hydrant mount`, verbatim.
    package var options: [ConfigurationKey: String] = [:]
    package var exclude: [String] = []
    /// Names of programs.
    package var downloadsAllow: [String] = []
    package var downloadsDeny: [String] = []
    package var downloadsAsk: [String] = []
    package var thumbnails: Bool?

    package init() {}
}

/// How a domain reaches its bucket.
package struct S3Options: Sendable, Hashable, Codable {
    /// The server's URL; nil: Amazon's.
    package var endpoint: String?
    package var region: String?
    package var isPathStyle: Bool?
    /// Of `~/.aws`.
    package var profile: String?
    package var isRequesterPays = false
    /// `http://ADDRESS:PORT` of this machine, to which the server sends the bucket's events.
    package var notifications: String?
    package init() {}
}

/// All of `config.toml`.
package struct Configuration: Sendable, Equatable {
    package var domains: [String: AccountSettings] = [:]
    package init() {}

    /// - Parameter file: for messages.
    /// - Throws: the first mistake, with its line: a file with a mistake is not used at all.
    package init(_ text: String, file: String) throws(AccountError) {
        let table: TOMLTable
        do { table = try TOMLTable(string: text) } catch {
            let place = (error as? TOMLParseError).map { "\($0.source.begin.line): \($0.description)" } ?? "\(error)"
            throw AccountError("\(file):\(place)")
        }
        let lines = KeyLines(text)
        func wrong(_ path: [String], _ what: String) -> AccountError {
            AccountError("\(file):\(lines.line(of: path).map { "\($0): " } ?? " ")\(what)")
        }
        for section in table.keys {
            guard section == "domains", let all = table[section]?.table else {
                throw wrong([section], "“\(section)”: unknown section; a domain is a section [domains.NAME]")
            }
            for name in all.keys {
                guard let domain = all[name]?.table else {
                    throw wrong([section, name], "write the domain as [domains.\(name)]")
                }
                if let problem = DomainName.problem(name) { throw wrong([section, name], problem) }
                domains[name] = try Self.settings(domain, path: [section, name], wrong)
            }
        }
    }

    private static func settings(
        _ table: TOMLTable, path: [String], _ wrong: ([String], String) -> AccountError
    ) throws(AccountError) -> AccountSettings {
        var settings = AccountSettings()
        for text in table.keys {
            let place = path + [text]
            guard let key = ConfigurationKey(rawValue: text) else {
                let near = Nearest.of(text, in: ConfigurationKey.allCases.map(\.rawValue))
                throw wrong(
                    place,
                    "“\(text)”: unknown key\(near.map { "; is \($0) meant?" } ?? ""); hydrant help config lists the keys"
                )
            }
            let value = table[text]
            switch key.kind {
            case .text:
                guard let string = value?.string else { throw wrong(place, "“\(text)” takes \(key.kind.name)") }
                try settings.set(key, string) { wrong(place, $0) }
            case .flag:
                guard let flag = value?.bool else { throw wrong(place, "“\(text)” takes \(key.kind.name)") }
                switch key {
                case .thumbnails: settings.thumbnails = flag
                case .pathStyle: settings.s3.isPathStyle = flag
                case .requesterPays: settings.s3.isRequesterPays = flag
                default: settings.isReadOnly = flag
                }
            case .list:
                let array = value?.array.map { Array($0) } ?? []
                let strings = array.compactMap(\.string)
                guard value?.array != nil, strings.count == array.count, !strings.isEmpty else {
                    throw wrong(place, "“\(text)” takes \(key.kind.name)")
                }
                switch key {
                case .exclude: settings.exclude = strings
                case .downloadsAllow: settings.downloadsAllow = strings
                case .downloadsDeny: settings.downloadsDeny = strings
                case .downloadsAsk: settings.downloadsAsk = strings
                default: settings.passwordCommand = strings
                }
            }
        }
        guard !settings.url.isEmpty else { throw wrong(path, "the domain has no url; add one") }
        return settings
    }
}

extension AccountSettings {
    fileprivate mutating func set(
        _ key: ConfigurationKey, _ value: String, _ wrong: (String) -> AccountError
    ) throws(AccountError) {
        switch key {
        case .url:
            do { url = try StoreURL.parse(value).url } catch { throw wrong(error.description) }
        case .user: user = value
        case .auth:
            guard ["basic", "bearer", "none"].contains(value) else {
                throw wrong("auth must be \"basic\", \"bearer\" or \"none\"")
            }
            usesToken = value == "bearer"
            isAnonymous = value == "none"
        case .certificateAuthority: certificateAuthority = value
        case .mountpoint: mountpoint = value
        case .endpoint: s3.endpoint = value
        case .region: s3.region = value
        case .profile: s3.profile = value
        case .notifications: s3.notifications = value
        default: options[key] = value
        }
    }
}

/// Checks the name of a domain, which is also the name of a folder and of a section.
package enum DomainName {
    package static func problem(_ name: String) -> String? {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard !name.isEmpty, name.utf8.count <= 64, isPlain, !name.hasPrefix("-") else {
            return "“\(name)”: is not a name for a domain; use letters, digits, - and _ (at most 64)"
        }
        return nil
    }
}

/// The known word that a mistyped word probably means.
enum Nearest {
    static func of(_ word: String, in words: [String]) -> String? {
        let near = words.map { ($0, distance(Array(word), Array($0))) }.min { $0.1 < $1.1 }
        return near.flatMap { $0.1 <= max(2, word.count / 3) ? $0.0 : nil }
    }

    /// Levenshtein's distance.
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let next = min(row[j] + 1, row[j + 1] + 1, diagonal + (x == y ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
        }
        return row[b.count]
    }
}
