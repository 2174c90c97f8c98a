package import HTTPTransport

package struct S3Settings: Sendable, Hashable {
    package var http = HTTPSettings()
    package var region: String?
    /// The server's URL; nil: Amazon's.
    package var endpoint: String?
    package var isPathStyle: Bool?
    package var isRequesterPays = false
    /// Dates, modes, links and attributes of objects that other programs made take a request for each new object.
    /// Without it they are shown with the date of their upload.
    package var readsMetadata = true
    /// In bytes: a larger document is sent in parts.
    package var longestPut: Int64 = 16 << 20
    /// Where the server sends the bucket's events; nil: Hydrant asks by itself.
    package var notifications: S3NotificationAddress?
    package init() {}
}
