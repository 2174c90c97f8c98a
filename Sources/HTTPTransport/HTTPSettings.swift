/// Settings of a connection to a server.
package struct HTTPSettings: Sendable, Hashable, Codable {
    /// PEM files with certificates that are trusted besides the system's.
    package var certificateAuthorities: [String] = []
    /// Connections to one server at a time, unless the server is known to handle ``mostConnections``.
    package var connections = 18
    package var mostConnections = 50
    /// In seconds, until a connection is set up, TLS included.
    package var connectTimeout = 10.0
    /// In seconds without a byte, in either direction.
    package var idleTimeout = 30.0
    /// In seconds, for a whole listing.
    package var listingTimeout = 1_200.0
    package var userAgent = "Hydrant"

    package init() {}

    /// The connections that transfers of documents may use: the rest is for quick requests.
    var transfers: Int { max(1, connections - Self.quick) }
    var mostTransfers: Int { max(transfers, mostConnections - Self.quick) }
    private static let quick = 2
}
