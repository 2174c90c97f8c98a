package import HTTPTransport

/// What a user may set for a WebDAV domain.
package struct WebDAVSettings: Sendable, Hashable, Codable {
    package var http = HTTPSettings()
    /// Entries of one listing.
    package var mostEntries = 1_000_000
    package init() {}
}
