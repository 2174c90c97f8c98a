import Foundation
package import HTTPTransport

/// A bucket, and the part of its keys that is mounted: `s3://BUCKET/PREFIX`, with `?endpoint=URL` of a server that is
/// not Amazon's.
package struct S3Address: Hashable, Sendable {
    package let bucket: String
    /// Empty, or with a slash at its end.
    package let prefix: String
    package let endpoint: String?

    /// Why a text is no address, for people.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// Source: *Bucket naming rules*, *Naming Amazon S3 objects* (keys of at most 1,024 bytes).
    package init(_ url: String) throws(Problem) {
        guard let mark = url.range(of: "://"), url[..<mark.lowerBound].lowercased() == "s3" else {
            throw Problem(description: "“\(url)”: is not the URL of a bucket; write s3://BUCKET/PREFIX")
        }
        var rest = url[mark.upperBound...]
        if let query = rest.range(of: Self.endpointMark, options: .backwards) {
            endpoint = String(rest[query.upperBound...])
            rest = rest[..<query.lowerBound]
        } else {
            endpoint = nil
        }
        let bucket = rest.prefix { $0 != "/" }
        let isName = { (byte: UInt8) -> Bool in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        // (Names of old buckets, and of other engines, may have capital letters and underscores.)
        guard (3...255).contains(bucket.utf8.count), bucket.utf8.allSatisfy(isName), !bucket.hasPrefix(".") else {
            throw Problem(
                description: "“\(bucket)”: is not the name of a bucket, which has 3 to 63 letters, digits, dots and "
                    + "hyphens")
        }
        let parts = rest.dropFirst(bucket.count).split(separator: "/").map(String.init)
        guard !parts.contains(where: { $0 == "." || $0 == ".." }) else {
            throw Problem(description: "“\(url)”: a prefix must not have “.” or “..” in it")
        }
        let prefix = parts.map { $0 + "/" }.joined()
        guard prefix.utf8.count <= 900 else {
            throw Problem(description: "“\(url)”: the prefix has \(prefix.utf8.count) bytes, more than 900")
        }
        self.bucket = String(bucket)
        self.prefix = prefix
    }

    private static let endpointMark = "?endpoint="

    /// The address of a bucket on a server, which tells it from the bucket with the same name elsewhere.
    package static func url(_ url: String, endpoint: String?) -> String {
        guard let endpoint, !url.contains(endpointMark) else { return url }
        return url + endpointMark + endpoint
    }
}

/// The server of a bucket, and how requests name the bucket.
package struct S3Endpoint: Hashable, Sendable {
    package var origin: HTTPLocation.Origin
    /// The bucket is the first component of the path; otherwise, a part of the host's name.
    package var isPathStyle: Bool
    package var region: String

    /// Amazon's servers in China have a domain of their own.
    static func amazon(_ region: String) -> String {
        region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    }

    /// The bucket is in another region.
    mutating func move(to region: String, bucket: String) {
        let old = self.region
        self.region = region
        let host = origin.host
        guard host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn") else { return }
        let usual = ["s3.amazonaws.com", "s3.\(old).\(Self.amazon(old))"]
        if usual.contains(where: { host == $0 || host == "\(bucket).\($0)" }) {
            guard let there = try? S3Endpoint(url: nil, region: region, isPathStyle: isPathStyle, bucket: bucket) else {
                return
            }
            self = there
            return
        }
        // Those of another kind (dual stack, FIPS) have the region in their names as well. That of a private network
        // (VPC) serves one region: its refusal is shown.
        guard !host.contains(".vpce."), let label = host.range(of: ".\(old).", options: .backwards) else { return }
        let scheme = origin.isSecure ? "https" : "http"
        let name = host.replacingCharacters(in: label, with: ".\(region).")
        guard let there = HTTPLocation("\(scheme)://\(name):\(origin.port)") else { return }
        origin = there.origin
    }

    /// Letters, digits, `-` and `_`: a region becomes a part of a host's name.
    static func isName(_ region: String) -> Bool {
        region.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// - Parameters:
    ///   - url: nil: Amazon's server of the region.
    ///   - isPathStyle: nil: as the server's kind suggests. Amazon's want the host's name, but for a bucket with a dot
    ///     in its name, which no certificate covers; others know the path in any case.
    package init(url: String?, region: String?, isPathStyle: Bool?, bucket: String) throws(S3Address.Problem) {
        let region = region ?? "us-east-1"
        guard !region.isEmpty, Self.isName(region) else {
            throw S3Address.Problem(description: "“\(region)”: is not the name of a region")
        }
        let text = url ?? "https://s3.\(region).\(Self.amazon(region))"
        guard let location = HTTPLocation(text), location.components.isEmpty, location.query == nil else {
            throw S3Address.Problem(
                description: "“\(text)”: is not the URL of a server; write https://HOST or https://HOST:PORT")
        }
        self.region = region
        let host = location.origin.host
        let isAmazon = host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
        self.isPathStyle = isPathStyle ?? (!isAmazon || bucket.contains("."))
        origin = location.origin
        if !self.isPathStyle {
            let scheme = origin.isSecure ? "https" : "http"
            guard let named = HTTPLocation("\(scheme)://\(bucket).\(origin.hostHeader)") else {
                throw S3Address.Problem(
                    description: "“\(bucket)”: cannot be a part of a host's name; add --path-style")
            }
            origin = named.origin
        }
    }
}
