import FileProvider
import FileProviderTesting
import S3Harness
import S3Provider
import Testing

@Suite(.timeLimit(.minutes(10))) struct S3ConformanceTests {
    @Test(arguments: S3ServerKind.tested) func aBucketKeepsTheRules(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { server in
            let report = try await ConformanceSuite.check(
                try server.provider(), otherClient: try server.provider())
            print(report)
        }
    }

    @Test(arguments: S3ServerKind.allCases) func aBucketWithVersionsKeepsTheRules(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { server in
            try server.keepVersions()
            let report = try await ConformanceSuite.check(
                try server.provider(), otherClient: try server.provider())
            #expect(!report.skipped.contains { $0.rule.number / 100 == 21 }, "\(report)")
        }
    }
}
