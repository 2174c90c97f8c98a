import FileProvider
import HTTPTransport

/// The profiles of the AWS command line: `~/.aws/credentials` and `~/.aws/config`.
///
/// Source: AWS SDKs and Tools Reference Guide, *Shared config and credentials files*.
package struct AWSProfiles: Sendable {
    /// The values of a profile, by key in lower case.
    package typealias Profile = [String: String]
    private var profiles: [String: Profile] = [:]

    /// In bytes, of one file.
    package static let longest = 1 << 20
    /// A longer chain of source profiles is a circle.
    private static let longestChain = 8

    /// - Parameters:
    ///   - credentials: the text of `credentials`, whose sections are names.
    ///   - config: the text of `config`, whose sections are `profile NAME`, and `default`.
    package init(credentials: String, config: String) {
        for (section, values) in Self.sections(config) {
            let words = section.split(separator: " ", maxSplits: 1).map { $0.trimmingSpaces() }
            guard section == "default" || words.count == 2 && words[0] == "profile" else { continue }
            profiles[words.last ?? section] = values
        }
        for (section, values) in Self.sections(credentials) {
            profiles[section, default: [:]].merge(values) { $1 }
        }
    }

    package subscript(name: String) -> Profile? { profiles[name] }
    package var names: [String] { profiles.keys.sorted() }

    /// How a profile comes to its credentials.
    enum Way: Sendable, Equatable {
        case keys(S3Credentials)
        /// A program that prints them.
        case process(String)
        /// A role, with the credentials of another profile.
        case role(SecurityTokenService.Role)
    }

    /// - Throws: for a profile that is not there, or has no credentials, for people.
    func way(of name: String) throws(FileProviderError) -> Way {
        guard let profile = profiles[name] else {
            let known = names.isEmpty ? "there are none" : "there are: " + names.joined(separator: ", ")
            throw FileProviderError(.notAuthenticated, "~/.aws has no profile “\(name)” (\(known))")
        }
        if let role = profile["role_arn"] {
            guard let source = profile["source_profile"] else {
                throw FileProviderError(
                    .notAuthenticated,
                    "the profile “\(name)” has a role and no source_profile; add one in ~/.aws/config")
            }
            guard profile["mfa_serial"] == nil else {
                throw FileProviderError(
                    .notAuthenticated,
                    "the profile “\(name)” asks for a code (mfa_serial), and nobody is there to type it; use a "
                        + "credential_process")
            }
            return .role(
                SecurityTokenService.Role(
                    name: role, session: profile["role_session_name"], externalID: profile["external_id"],
                    source: source))
        }
        if let keys = keys(of: name) { return .keys(keys) }
        if let command = profile["credential_process"] { return .process(command) }
        if let source = profile["source_profile"], source != name { return try way(of: source, chain: [name]) }
        throw FileProviderError(
            .notAuthenticated,
            "the profile “\(name)” has no access key, no credential_process and no role; run aws configure --profile "
                + name)
    }

    /// The key in the profile itself.
    func keys(of name: String) -> S3Credentials? {
        guard let profile = profiles[name], let key = profile["aws_access_key_id"],
            let secret = profile["aws_secret_access_key"]
        else { return nil }
        let token = profile["aws_session_token"].map { Secret($0) }
        return S3Credentials(accessKey: key, secretKey: Secret(secret), sessionToken: token)
    }

    private func way(of name: String, chain: [String]) throws(FileProviderError) -> Way {
        guard chain.count < Self.longestChain, !chain.contains(name) else {
            throw FileProviderError(
                .notAuthenticated, "the source_profile of “\(chain[0])” in ~/.aws/config leads back to itself")
        }
        if let profile = profiles[name], profile["role_arn"] == nil, profile["aws_access_key_id"] == nil,
            profile["credential_process"] == nil, let source = profile["source_profile"]
        {
            return try way(of: source, chain: chain + [name])
        }
        return try way(of: name)
    }

    /// Sections of an INI file, in order; nested values and comments are left out.
    static func sections(_ text: String) -> [(name: String, values: Profile)] {
        var sections: [(name: String, values: Profile)] = []
        for line in text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline) {
            // (A line that begins with a space belongs to a nested value.)
            guard let first = line.first, !first.isWhitespace, first != "#", first != ";" else { continue }
            if first == "[" {
                guard let end = line.firstIndex(of: "]") else { continue }
                sections.append((line[line.index(after: line.startIndex)..<end].trimmingSpaces(), [:]))
            } else if let equals = line.firstIndex(of: "="), !sections.isEmpty {
                let key = line[..<equals].trimmingSpaces().lowercased()
                sections[sections.count - 1].values[key] = line[line.index(after: equals)...].trimmingSpaces()
            }
        }
        return sections
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> String { String(self).trimmingASCIIWhitespace() }
}
