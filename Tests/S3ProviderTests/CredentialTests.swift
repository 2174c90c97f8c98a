import FileProvider
import Foundation
import HTTPTransport
import Logging
import MountHarness
import S3Harness
import Synchronization
import Testing

@testable import S3Provider

/// The places of credentials, in their order.
@Suite("S3: credentials", .timeLimit(.minutes(5)))
struct CredentialTests {
    private static func chain(
        _ environment: [String: String], profile: String? = nil, stored: S3Credentials? = nil
    ) -> S3CredentialChain {
        var places = S3CredentialChain.Places()
        places.environment = environment
        places.profile = profile
        places.stored = { stored }
        return S3CredentialChain(places, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func withHome(
        _ credentials: String, _ config: String = "", _ body: (String) async throws -> Void
    ) async throws {
        let home = NSTemporaryDirectory() + "hydrant-aws-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: home + "/.aws", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: home) }
        try credentials.write(toFile: home + "/.aws/credentials", atomically: true, encoding: .utf8)
        try config.write(toFile: home + "/.aws/config", atomically: true, encoding: .utf8)
        try await body(home)
    }

    private static let file = """
        [default]
        aws_access_key_id = FILE
        aws_secret_access_key = s

        [work]
        aws_access_key_id = WORK
        aws_secret_access_key = s
        aws_session_token = t
        """

    @Test func theOrderOfPlaces() async throws {
        try await Self.withHome(Self.file) { home in
            let own = S3Credentials(accessKey: "OWN", secretKey: Secret("s"))
            let keys = ["HOME": home, "AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"]
            let cases: [(S3CredentialChain, String)] = [
                (Self.chain(keys, profile: "work", stored: own), "WORK"), (Self.chain(keys, stored: own), "OWN"),
                (Self.chain(keys), "ENV"), (Self.chain(["HOME": home]), "FILE"),
                (Self.chain(["HOME": home, "AWS_PROFILE": "work"]), "WORK"),
            ]
            for (chain, key) in cases {
                let found = try await chain.credentials()
                #expect(found?.accessKey == key)
            }
            #expect(S3CredentialChain.areAround(["HOME": home], profile: nil))
            let none = Self.chain(["HOME": home + "/nowhere"])
            let error = await #expect(throws: FileProviderError.self) { try await none.credentials() }
            #expect(error?.code == .notAuthenticated && error?.message.contains("hydrant login") == true)
            #expect(!S3CredentialChain.areAround(["HOME": home + "/nowhere"], profile: nil))
        }
    }

    /// At once; without one the same key stays in use.
    @Test func anotherSignInCounts() async throws {
        func key(_ chain: S3CredentialChain) async throws -> String? { try await chain.credentials()?.accessKey }
        let state = SharedCredentials()
        var stored = S3CredentialChain.Places()
        stored.stored = { state.value }
        let other = S3CredentialChain(stored, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        state.value = S3Credentials(accessKey: "ONE", secretKey: Secret("s"))
        #expect(try await key(other) == "ONE")
        state.value = S3Credentials(accessKey: "TWO", secretKey: Secret("s"))
        #expect(try await key(other) == "ONE")
        other.mayHaveChanged()
        #expect(try await key(other) == "TWO")
    }

    @Test func aProgramPrintsThem() async throws {
        let answer = """
            {"Version":1,"AccessKeyId":"P","SecretAccessKey":"s","SessionToken":"t","Expiration":"2100-01-01T00:00:00Z"}
            """
        try await Self.withHome(
            "",
            """
            [profile good]
            credential_process = /bin/cat "HOMEFOLDER/answer"
            [profile bad]
            credential_process = /bin/echo no
            [profile fails]
            credential_process = /bin/false
            """
        ) { home in
            let config = try String(contentsOfFile: home + "/.aws/config", encoding: .utf8)
            try config.replacing("HOMEFOLDER", with: home).write(
                toFile: home + "/.aws/config", atomically: true, encoding: .utf8)
            try answer.write(toFile: home + "/answer", atomically: true, encoding: .utf8)
            let good = try #require(try await Self.chain(["HOME": home], profile: "good").credentials())
            #expect(good.accessKey == "P" && good.sessionToken?.revealed == "t")
            #expect(good.expiration == FileTime(seconds: 4_102_444_800))
            for (profile, reason) in [
                ("bad", "no credentials of version 1"), ("fails", "status 1"), ("x", "no profile"),
            ] {
                let error = await #expect(throws: FileProviderError.self) {
                    try await Self.chain(["HOME": home], profile: profile).credentials()
                }
                #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
            }
        }
    }

    /// moto gives every role to everybody.
    @Test func aRoleIsTaken() async throws {
        try await withS3(.moto) { server in
            try await Self.withHome(
                Self.file,
                """
                [profile role]
                role_arn = arn:aws:iam::123456789012:role/reader
                source_profile = work
                region = eu-central-1
                """
            ) { home in
                let chain = Self.chain(["HOME": home, "AWS_ENDPOINT_URL_STS": server.endpoint], profile: "role")
                let role = try #require(try await chain.credentials())
                #expect(role.accessKey != "WORK" && role.sessionToken != nil)
                let end = try #require(role.expiration)
                #expect(end.seconds > FileTime.present.seconds + 1_800)
                // Once an hour.
                #expect(try await chain.credentials() == role)
                await chain.end()
            }
        }
    }
}

private final class SharedCredentials: Sendable {
    private let state = Mutex<S3Credentials?>(nil)
    var value: S3Credentials? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
