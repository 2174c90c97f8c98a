import Foundation
import HTTPTransport
import Hashing
import Surroundings

/// AWS Signature Version 4 for S3, in the header `Authorization`.
///
/// Source: Amazon S3 API Reference, *Authenticating Requests: Using the Authorization Header*.
struct SignatureV4 {
    let credentials: S3Credentials
    let region: String
    /// `s3`, or `sts`.
    let service: String
    /// `20130524T000000Z`.
    let date: String
    private let key: Digest

    /// - Parameter seconds: since 1970-01-01 00:00:00 UTC; a server refuses a clock that is 15 minutes wrong.
    init(_ credentials: S3Credentials, region: String, service: String = "s3", seconds: Int64) {
        self.service = service
        self.credentials = credentials
        self.region = region
        date = Self.date(seconds)
        let first = AuthenticationCode.of(
            date.prefix(8).utf8, key: "AWS4\(credentials.secretKey.revealed)".utf8)
        key = [region, service, "aws4_request"].reduce(first) { AuthenticationCode.of($1.utf8, key: $0) }
    }

    static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// The header's value, and the signature in it.
    ///
    /// - Parameters:
    ///   - headers: all that are signed besides `Host`: at least `x-amz-date` and `x-amz-content-sha256`.
    ///   - payload: the SHA-256 of the body in hexadecimal digits.
    func authorization(
        _ method: String, _ location: HTTPLocation, headers: [(name: String, value: String)], payload: String
    ) -> (value: String, signature: String) {
        var values: [String: String] = ["host": location.origin.hostHeader]
        for (name, value) in headers {
            // (Spaces within a value count once.)
            let plain = value.split(separator: " ").joined(separator: " ")
            let key = name.lowercased()
            values[key] = values[key].map { "\($0),\(plain)" } ?? plain
        }
        let names = values.keys.sorted()
        let lines = names.map { "\($0):\(values[$0] ?? "")\n" }.joined()
        let request = [
            method, location.path, Self.canonical(location.query), lines, names.joined(separator: ";"), payload,
        ].joined(separator: "\n")
        let signature = sign("AWS4-HMAC-SHA256", [Self.digest(request)])
        let signed = names.joined(separator: ";")
        let value =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(signed), "
            + "Signature=\(signature)"
        return (value, signature)
    }

    private var scope: String { "\(date.prefix(8))/\(region)/\(service)/aws4_request" }

    private func sign(_ algorithm: String, _ lines: [String]) -> String {
        let text = ([algorithm, date, scope] + lines).joined(separator: "\n")
        return AuthenticationCode.of(text.utf8, key: key).hexadecimal
    }

    private static func digest(_ text: String) -> String { SHA256.hash(data: Data(text.utf8)).hexadecimal }

    /// Sorted by name; a parameter without a value has an empty one.
    private static func canonical(_ query: String?) -> String {
        let parts = (query ?? "").split(separator: "&").map { part -> String in
            part.utf8.contains(UInt8(ascii: "=")) ? String(part) : "\(part)="
        }
        return parts.sorted().joined(separator: "&")
    }

    private static func date(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var parts = tm()
        gmtime_r(&moment, &parts)
        func padded(_ number: Int32, _ count: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        let day = [padded(parts.tm_year + 1_900, 4), padded(parts.tm_mon + 1), padded(parts.tm_mday)].joined()
        let clock = [padded(parts.tm_hour), padded(parts.tm_min), padded(parts.tm_sec)].joined()
        return "\(day)T\(clock)Z"
    }
}

extension HTTPLocation.Origin {
    /// The value of the header `Host`: with the port where it is not the scheme's own.
    var hostHeader: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
}
