import FileProvider
import Foundation
import HTTPTransport
import Hashing
import Surroundings

/// Exchanges credentials for those of a role, for an hour.
///
/// Source: *AWS Security Token Service API Reference, AssumeRole*.
struct SecurityTokenService {
    let transport: HTTPTransport
    let region: String
    /// The server's URL; nil: Amazon's.
    let endpoint: String?

    struct Role: Hashable, Sendable {
        var name: String
        var session: String?
        var externalID: String?
        /// The profile whose credentials may take the role.
        var source: String
    }

    func assume(_ role: Role, with credentials: S3Credentials) async throws(FileProviderError) -> S3Credentials {
        let url = endpoint ?? "https://sts.\(region).\(S3Endpoint.amazon(region))/"
        guard let location = HTTPLocation(url)?.asFolder(true) else {
            throw FileProviderError(.notAuthenticated, "“\(url)”: is not the URL of a server")
        }
        var fields = [
            ("Action", "AssumeRole"), ("Version", "2011-06-15"), ("RoleArn", role.name),
            ("RoleSessionName", role.session ?? "hydrant"), ("DurationSeconds", "3600"),
        ]
        if let id = role.externalID { fields.append(("ExternalId", id)) }
        let form = fields.map { "\($0.0)=\(PercentCoding.encode($0.1.utf8))" }.joined(separator: "&")
        let body = Array(form.utf8)
        let digest = SHA256.hash(data: body).hexadecimal
        let signer = SignatureV4(credentials, region: region, service: "sts", seconds: FileTime.present.seconds)
        var headers = [
            (name: "x-amz-date", value: signer.date), (name: "x-amz-content-sha256", value: digest),
            (name: "Content-Type", value: "application/x-www-form-urlencoded; charset=utf-8"),
        ]
        if let token = credentials.sessionToken { headers.append(("x-amz-security-token", token.revealed)) }
        headers.append(
            ("Authorization", signer.authorization("POST", location, headers: headers, payload: digest).value))
        var request = HTTPRequest("POST", location, headers: headers, body: .bytes(body), followsRedirections: false)
        request.hasOwnSignature = true
        return try await transport.exchange(request) { reply -> S3Credentials in
            let bytes = try await reply.prefix(64 << 10)
            guard reply.status == 200, let answer = try? S3Answer(bytes) else {
                let refusal = (try? S3Answer(bytes))?["ErrorResponse/Error/Code"] ?? "status \(reply.status)"
                throw FileProviderError(
                    .notAuthenticated, "\(location.origin): does not give you the role \(role.name) (\(refusal))")
            }
            return try Self.credentials(answer, role)
        }
    }

    private static func credentials(_ answer: S3Answer, _ role: Role) throws(FileProviderError) -> S3Credentials {
        let start = "AssumeRoleResponse/AssumeRoleResult/Credentials/"
        guard let key = answer[start + "AccessKeyId"], let secret = answer[start + "SecretAccessKey"],
            let token = answer[start + "SessionToken"]
        else {
            throw FileProviderError(.notAuthenticated, "the answer for the role \(role.name) has no credentials")
        }
        return S3Credentials(
            accessKey: key, secretKey: Secret(secret), sessionToken: Secret(token),
            expiration: answer[start + "Expiration"].flatMap { HTTPDate.parse($0) }.map { FileTime(seconds: $0) })
    }
}
