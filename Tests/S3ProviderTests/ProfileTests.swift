import FileProvider
import HTTPTransport
import Testing

@testable import S3Provider

@Suite struct ProfileTests {
    private let profiles = AWSProfiles(
        credentials: """
            # keys
            [default]
            aws_access_key_id = AKID
            aws_secret_access_key=SECRET=with=signs
            [temporary]
            aws_access_key_id = ASIA
            aws_secret_access_key = S
            aws_session_token = T
            """,
        config: """
            [default]
            region = eu-central-1
            s3 =
              addressing_style = path
            [profile work]
            role_arn = arn:aws:iam::1:role/x
            source_profile = default
            [profile tool]
            credential_process = /opt/tool --profile work
            [profile alias]
            source_profile = tool
            [profile loop]
            source_profile = pool
            [profile pool]
            source_profile = loop
            [profile empty]
            region = us-east-1
            [sso-session x]
            aws_access_key_id = no
            """)

    @Test func keys() throws {
        let lasting = S3Credentials(accessKey: "AKID", secretKey: Secret("SECRET=with=signs"))
        #expect(try profiles.way(of: "default") == AWSProfiles.Way.keys(lasting))
        #expect(profiles["default"]?["region"] == "eu-central-1" && profiles["default"]?["addressing_style"] == nil)
        let temporary = S3Credentials(accessKey: "ASIA", secretKey: Secret("S"), sessionToken: Secret("T"))
        #expect(try profiles.way(of: "temporary") == AWSProfiles.Way.keys(temporary))
    }

    @Test func otherWays() throws {
        let role = AWSProfiles.Way.role(
            SecurityTokenService.Role(name: "arn:aws:iam::1:role/x", session: nil, externalID: nil, source: "default"))
        #expect(try profiles.way(of: "work") == role)
        let process = AWSProfiles.Way.process("/opt/tool --profile work")
        #expect(try profiles.way(of: "tool") == process)
        #expect(try profiles.way(of: "alias") == process)
    }

    @Test(arguments: ["nobody", "empty", "loop", "x"]) func noWay(_ name: String) {
        let error = #expect(throws: FileProviderError.self) { try profiles.way(of: name) }
        #expect(error?.code == .notAuthenticated && error?.message.contains("SECRET") == false)
    }

    @Test(arguments: ["", "[", "[a", "=", "x=1", "[a]\n=\n[b]x=1\n\r\n", "\u{0}[a]"]) func oddFiles(_ text: String) {
        let profiles = AWSProfiles(credentials: text, config: text)
        #expect(throws: FileProviderError.self) { try profiles.way(of: "default") }
    }
}
