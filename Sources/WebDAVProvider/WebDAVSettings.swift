package import HTTPTransport

/// What a user may set for a WebDAV domain.
package struct WebDAVSettings: Sendable, Hashable, Codable {
    package var http = HTTPSettings()
    /// In bytes: larger documents are sent in pieces of this size where the server can put them together.
    package var chunk: Int64 = 10 << 20
    package init() {}
}
