import FileProvider
import Foundation

/// The parameters of a call, as rclone names them.
///
/// Source: rclone.org/rc.
struct RcloneParameters: Encodable, Sendable {
    var fs: String?
    var remote: String?
    var srcFs: String?
    var srcRemote: String?
    var dstFs: String?
    var dstRemote: String?
    var opt: Options?
    var createEmptySrcDirs: Bool?
    var deleteEmptySrcDirs: Bool?
    var group: String?
    var configPassword: String?
    var hashType: String?
    /// Flags for this call alone.
    var _config: Flags?
    /// Where the figures of this call are counted.
    var _group: String?

    init() {}

    /// Of a listing or a look.
    struct Options: Encodable, Sendable {
        var noModTime: Bool?
        var noMimeType = true
        var showHash: Bool?
        var hashTypes: [String]?
        var filesOnly: Bool?
        var dirsOnly: Bool?
    }

    /// Flags of rclone's commands, by the names of its `fs.ConfigInfo`.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    struct Flags: Encodable, Sendable {
        /// What exists is never replaced.
        var IgnoreExisting: Bool?
        /// Bytes are sent even where size and date are the same.
        var IgnoreTimes: Bool?
        /// Without a temporary name of rclone's own.
        var Inplace: Bool?
        /// Without rclone's own comparison afterwards: when it finds other contents, it deletes them, and they may be
        /// somebody else's. Hydrant compares by itself.
        var IgnoreChecksum: Bool?
        var IgnoreSize: Bool?

        static let keeping = Flags(IgnoreExisting: true, IgnoreChecksum: true, IgnoreSize: true)
        /// With rclone's comparison: where a store cannot rename, rclone copies, compares, and deletes the source. What it
        /// deletes when they differ is its own copy, since nothing else had the name.
        static let moving = Flags(IgnoreExisting: true)
        static let replacing = Flags(IgnoreTimes: true, IgnoreChecksum: true, IgnoreSize: true)
    }
}

/// What a remote can do (`operations/fsinfo`).
// swift-format-ignore: AlwaysUseLowerCamelCase
struct RcloneInformation: Decodable, Sendable {
    struct Abilities: Decodable, Sendable {
        var About: Bool?
        var BucketBased: Bool?
        var CanHaveEmptyDirectories: Bool?
        var CaseInsensitive: Bool?
        var Copy: Bool?
        var DirMove: Bool?
        var DirModTimeUpdatesOnWrite: Bool?
        var Move: Bool?
        var PartialUploads: Bool?
        var SlowHash: Bool?
    }
    var Features: Abilities
    var Hashes: [String]?
    /// The finest difference between two dates, in nanoseconds.
    var Precision: Int64?
}

/// An item as rclone describes it (`lsjson`).
// swift-format-ignore: AlwaysUseLowerCamelCase
struct RcloneEntry: Decodable, Sendable {
    var Name: String
    var Size: Int64
    /// RFC 3339; empty where it was not asked for.
    var ModTime: String?
    var IsDir: Bool
    var Hashes: [String: String]?
}

struct RcloneListing: Decodable, Sendable { var list: [RcloneEntry]? }
struct RcloneHash: Decodable, Sendable { var hash: String? }
struct RcloneStat: Decodable, Sendable { var item: RcloneEntry? }
struct RcloneNothing: Decodable, Sendable {}
struct RcloneRemotes: Decodable, Sendable { var remotes: [String]? }
struct RcloneStats: Decodable, Sendable {
    var transfers: Int64?
    var serverSideCopies: Int64?
}

struct RcloneRelease: Decodable, Sendable {
    var version: String?
    var decomposed: [Int]?
}

struct RcloneSpace: Decodable, Sendable {
    var total: Int64?
    var used: Int64?
    var free: Int64?
}

/// A call that failed.
struct RcloneRefusal: Decodable, Error, Sendable {
    var error: String
    var status: Int?

    /// Whether the store answered that nothing is there: in rclone's own words, since a missing file of its own (a key)
    /// has others.
    /// (At the end: before that there may be names.)
    var isAbsent: Bool { ends(["object not found", "directory not found"]) }

    /// Whether the text ends with one of these.
    func ends(_ words: [String]) -> Bool {
        let text = error.lowercased().trimmingCharacters(in: .whitespacesAndNewlines)
        return words.contains { text.hasSuffix($0) }
    }

    /// Whether the configuration is encrypted and its password not known.
    var isLocked: Bool {
        let text = error.lowercased()
        return text.contains("decrypt configuration") || text.contains("couldn't decrypt")
            || text.contains("configuration password") || text.contains("rclone_config_pass")
    }
}

extension RcloneRefusal {
    /// For Hydrant. rclone has one status for nearly all failures, so their words decide.
    ///
    /// - Parameter place: the item, for people.
    func failure(_ place: String) -> FileProviderError {
        let text = Self.words(error, about: place).lowercased()
        func says(_ words: [String]) -> Bool { words.contains { text.contains($0) } }
        let reason = String(error.split(whereSeparator: \.isNewline).joined(separator: " ").prefix(300))
        if isLocked {
            return FileProviderError(.notAuthenticated, "rclone's configuration is encrypted: \(reason)")
        }
        if says(Self.signIn) {
            return FileProviderError(
                .notAuthenticated, "\(place): the store does not accept the sign-in; run rclone config (\(reason))")
        }
        if says(Self.room) {
            return FileProviderError(.insufficientQuota, "\(place): the store has no room (\(reason))")
        }
        if says(Self.busy) { return FileProviderError(.serverUnreachable, "\(place): the store is busy (\(reason))") }
        if says(Self.network) {
            return FileProviderError(.serverUnreachable, "\(place): the store cannot be reached (\(reason))")
        }
        if isAbsent { return FileProviderError(.noSuchItem, "\(place): is not in the store (\(reason))") }
        if says(Self.rights) {
            return FileProviderError(.permissionDenied, "\(place): the store does not allow this (\(reason))")
        }
        if says(Self.names) {
            return FileProviderError(.invalidName, "\(place): the store refuses the name (\(reason))")
        }
        if text.contains("read-only file system") {
            return FileProviderError(.readOnly, "\(place): the store takes no changes (\(reason))")
        }
        return FileProviderError(.cannotSynchronize, "\(place): rclone could not do this: \(reason)")
    }

    /// The text without the names in it, which could look like reasons: those of the place and of the folders above it,
    /// and paths in quotation marks.
    private static func words(_ text: String, about place: String) -> String {
        var components = place.split(separator: "/", maxSplits: 64).map(String.init)
        if let first = components.first, let colon = first.lastIndex(of: ":") {
            components[0] = String(first[first.index(after: colon)...])
        }
        components.removeAll { $0.isEmpty }
        var text = text
        // The longest first.
        for count in stride(from: components.count, to: 1, by: -1) {
            for start in 0...(components.count - count) {
                text = text.replacing(components[start..<(start + count)].joined(separator: "/"), with: "…")
            }
        }
        // (A word that follows nothing of a path may be the reason itself.)
        for name in components where name.utf8.count >= 3 {
            for (before, after) in [("/", ""), ("", ":"), ("'", "'"), ("\"", "\""), ("“", "”")] {
                text = text.replacing(before + name + after, with: before + "…" + after)
            }
        }
        // Paths and URLs in quotation marks.
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            index % 2 == 1 && index < parts.count - 1 && part.contains("/") ? "…" : String(part)
        }.joined(separator: "\"")
    }

    private static let signIn = [
        "unauthorized", "401 ", "invalid_grant", "invalid_token", "token expired", "expired token", "oauth2:",
        "unable to authenticate", "couldn't login", "invalidaccesskeyid", "signaturedoesnotmatch",
        "couldn't connect to ssh-agent", "empty token", "failed to create oauth client", "login incorrect",
        "authentication failed", "bad username or password",
    ]
    private static let room = [
        "no space left", "quota", "insufficient storage", "507 ", "storage limit", "not enough space", "disk full",
    ]
    private static let busy = [
        "too many requests", "429 ", "rate limit", "ratelimit", "slow down", "slowdown", "503 ", "502 ", "504 ",
        "service unavailable", "bad gateway", "gateway time",
    ]
    private static let network = [
        "connection refused", "no such host", "i/o timeout", "timed out", "timeout", "network is unreachable",
        "no route to host", "connection reset", "broken pipe", "couldn't connect", "unexpected eof",
        "use of closed network connection", "server misbehaving", "tls:", "x509:", "connection lost", "host is down",
    ]
    private static let rights = [
        "permission denied", "access denied", "accessdenied", "forbidden", "403 ", "operation not permitted",
        "not permitted",
    ]
    private static let names = [
        "file name too long", "name too long", "invalid argument", "invalid name", "illegal name",
        "filename contains", "invalid filename", "disallowed name",
    ]
}
