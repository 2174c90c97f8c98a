package import HTTPTransport

package struct S3Settings: Sendable, Hashable {
    package var http = HTTPSettings()
    package var region: String?
    /// The server's URL; nil: Amazon's.
    package var endpoint: String?
    package var isPathStyle: Bool?
    package var isRequesterPays = false
    /// In bytes: a larger document is sent in parts.
    package var longestPut: Int64 = 16 << 20
    /// In seconds: a server may copy or join a large object without sending a byte meanwhile.
    package var copyTimeout = 600.0
    /// Where the server sends the bucket's events; nil: Hydrant asks by itself.
    package var notifications: S3NotificationAddress?
    package init() {}
}
