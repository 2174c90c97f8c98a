/// The keys of a section `[domains.NAME]` in `config.toml`: the one table for the reader, for `hydrant help config` and
/// for the documentation, which a test compares with it.
package enum ConfigurationKey: String, CaseIterable, Sendable {
    case url
    case user
    case auth
    case passwordCommand = "password-command"
    case certificateAuthority = "certificate-authority"
    case endpoint
    case region
    case pathStyle = "path-style"
    case profile
    case requesterPays = "requester-pays"
    case notifications
    case mountpoint
    case readOnly = "read-only"
    case cacheLimit = "cache-limit"
    case minFree = "min-free"
    case readAhead = "read-ahead"
    case limitDownload = "limit-download"
    case limitUpload = "limit-upload"
    case holdDeletions = "hold-deletions"
    case exclude
    case downloadsAllow = "downloads-allow"
    case downloadsDeny = "downloads-deny"
    case downloadsAsk = "downloads-ask"
    case thumbnails

    package enum Kind: Sendable {
        case text, flag
        case list

        package var name: String {
            switch self {
            case .text: "a text in quotes"
            case .flag: "true or false"
            case .list: "a list of texts, [\"…\", \"…\"]"
            }
        }
    }

    package var kind: Kind {
        switch self {
        case .readOnly, .thumbnails, .pathStyle, .requesterPays: .flag
        case .exclude, .passwordCommand, .downloadsAllow, .downloadsDeny, .downloadsAsk: .list
        default: .text
        }
    }

    /// One or two sentences for people.
    package var meaning: String {
        switch self {
        case .url:
            "Where the documents are: the https:// or http:// URL of a WebDAV folder, s3://BUCKET/PREFIX, or another store as hydrant mount takes it. Required."
        case .user: "The user name on the server; of S3, the access key."
        case .auth:
            "How to sign in: basic (a user name and a password; the default), bearer (a token), or none (a public bucket)."
        case .passwordCommand:
            "A program, with its arguments, that prints the password (or token) on its first line; Hydrant then keeps none."
        case .certificateAuthority:
            "A PEM file with the certificate authority of the server, trusted besides the system's."
        case .endpoint: "The URL of a server that speaks S3. Default: Amazon's of the region."
        case .region: "The region of the bucket. Default: that of the profile, else us-east-1."
        case .pathStyle:
            "Whether the bucket is in the path of requests, not in the host's name. Default: true, but for Amazon's servers."
        case .profile: "The profile of ~/.aws whose credentials sign the requests."
        case .requesterPays: "Whether your account pays for the requests of a bucket that asks for it."
        case .notifications:
            "An address of this machine, http://ADDRESS:PORT, to which the server of a bucket sends its events (Ceph RGW). Default: none; Hydrant asks by itself."
        case .mountpoint: "The directory to mount at when hydrant mount NAME names none."
        case .readOnly: "As --read-only of hydrant mount."
        case .cacheLimit: "As --cache-limit of hydrant mount."
        case .minFree: "As --min-free of hydrant mount."
        case .readAhead: "As --read-ahead of hydrant mount."
        case .limitDownload: "As --limit-download of hydrant mount."
        case .limitUpload: "As --limit-upload of hydrant mount."
        case .holdDeletions: "As --hold-deletions of hydrant mount."
        case .exclude: "Patterns, each as for --exclude of hydrant mount."
        case .downloadsAllow: "Programs that may download the documents they open, as for hydrant policy."
        case .downloadsDeny: "Programs that may not download."
        case .downloadsAsk: "Programs that may not download until you agree."
        case .thumbnails:
            "Whether thumbnails of documents go into your cache of thumbnails, for file managers. Default: true."
        }
    }
}
