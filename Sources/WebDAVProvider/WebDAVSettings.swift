package import HTTPTransport

/// What a user may set for a WebDAV domain.
package struct WebDAVSettings: Sendable, Hashable, Codable {
    package var http = HTTPSettings()
    package init() {}
}
