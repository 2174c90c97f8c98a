import NIOHTTP1

/// Lets in only requests that this page's own scripts and a person's browser send. Other sites can make a browser send
/// requests here, and with a DNS name that points to 127.0.0.1 even read the answers: the name is then in `Host`.
struct RequestGate: Sendable {
    private let hosts: Set<String>
    private let headerBytes: Int
    private static let longestAddress = 4_096

    init(port: Int, headerBytes: Int) {
        hosts = ["127.0.0.1:\(port)", "[::1]:\(port)", "localhost:\(port)"]
        self.headerBytes = headerBytes
    }

    func check(_ head: HTTPRequestHead) throws {
        guard head.uri.utf8.count <= Self.longestAddress else { throw WebProblem(.uriTooLong) }
        let size = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard size <= headerBytes else { throw WebProblem(.requestHeaderFieldsTooLarge) }
        let named = head.headers["Host"]
        guard named.count == 1, let host = named.first, hosts.contains(host.lowercased()) else {
            throw WebProblem(.misdirectedRequest, "the address of this page begins with http://127.0.0.1")
        }
        for origin in head.headers["Origin"] where origin != "http://\(host)" { throw Self.foreign }
        for site in head.headers["Sec-Fetch-Site"] where site != "same-origin" {
            // A person typed the address, or followed the link in the file that `hydrant web --open` opens. The page alone
            // has no data.
            let mode = head.headers.first(name: "Sec-Fetch-Mode")
            let target = head.headers.first(name: "Sec-Fetch-Dest")
            guard head.method == .GET, !head.uri.hasPrefix("/api/"), mode == "navigate", target == "document" else {
                throw Self.foreign
            }
        }
    }

    private static let foreign = WebProblem(.forbidden, "another site's page asks")
}
