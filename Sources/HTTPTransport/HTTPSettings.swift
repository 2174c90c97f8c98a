/// How a server is spoken to.
package struct HTTPSettings: Sendable, Hashable, Codable {
    /// PEM files with certificates that are trusted besides the system's.
    package var certificateAuthorities: [String] = []
    /// Connections to one server at a time, unless it is known to be one that takes ``mostConnections``.
    package var connections = 18
    package var mostConnections = 50
    /// In seconds, until a connection stands, TLS included.
    package var connectTimeout = 10.0
    /// In seconds without a byte, in either direction.
    package var idleTimeout = 30.0
    /// In seconds, for all of a listing.
    package var listingTimeout = 1_200.0
    package var userAgent = "Hydrant"

    package init() {}

    /// How many of the connections transfers of documents may take: the rest is for what is quick.
    var transfers: Int { max(1, connections - Self.quick) }
    var mostTransfers: Int { max(transfers, mostConnections - Self.quick) }
    private static let quick = 2
}
