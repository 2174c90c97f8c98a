package import HTTPTransport

/// A user's settings for a WebDAV domain.
package struct WebDAVSettings: Sendable, Hashable, Codable {
    package var http = HTTPSettings()
    /// The most entries of a listing.
    package var mostEntries = 1_000_000
    package init() {}
}
