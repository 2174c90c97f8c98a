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

    /// What servers lack in a bucket with versions (S3.md): folders whose documents have versions stay, or show again;
    /// names have less room. moto's list of versions, and so its trash, is no XML once a name has a control character.
    private static let lacks: [S3ServerKind: Set<Int>] = [
        .seaweedfs: [306, 604, 703], .cluster: [306, 604, 703], .ceph: [804],
        .moto: [307, 504, 604, 1401, 1405, 1406, 1407, 1408],
    ]

    @Test(arguments: S3ServerKind.tested) func aBucketWithVersionsKeepsTheRules(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { server in
            try server.keepVersions()
            let report = await ConformanceSuite(
                provider: try server.provider(), otherClient: try server.provider()
            ).run()
            let broken = Set(report.failures.map(\.rule.number))
            #expect(broken.isSubset(of: Self.lacks[kind] ?? []), "\(report)")
            #expect(!report.skipped.contains { $0.rule.number / 100 == 21 }, "\(report)")
        }
    }
}
