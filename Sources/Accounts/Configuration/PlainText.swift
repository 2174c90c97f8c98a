import Foundation
package import HTTPTransport

extension HTTPLocation.Origin {
    /// Whether others on the network can read the traffic: no encryption, and another machine.
    package var isReadByOthers: Bool {
        let isHere =
            host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || host.hasPrefix("127.") && host.split(separator: ".").count == 4
        return !isSecure && !isHere
    }
}

extension AccountSettings {
    /// The warning before a password or token goes over a network unencrypted; nil: none is needed.
    package var plainTextWarning: String? {
        if StoreURL.isS3(url) {
            let named = url.range(of: "?endpoint=", options: .backwards).map { String(url[$0.upperBound...]) }
            guard let origin = (s3.endpoint ?? named).flatMap({ HTTPLocation($0) })?.origin, origin.isReadByOthers
            else { return nil }
            return
                "\(origin): http:// is not encrypted: others on the network can read the documents; use https://"
        }
        guard user != nil || usesToken || passwordCommand != nil,
            let origin = try? AccountURL.parse(url).location.origin,
            origin.isReadByOthers
        else { return nil }
        let secret = usesToken ? "the token" : "the password"
        return
            "\(origin): http:// is not encrypted: others on the network can read \(secret) and the documents; use https://"
    }
}
