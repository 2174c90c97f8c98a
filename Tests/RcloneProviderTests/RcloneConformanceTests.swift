import FileProvider
import FileProviderTesting
import Foundation
import RcloneProvider
import Testing

@Suite("Rclone remotes keep the rules", .timeLimit(.minutes(10))) struct RcloneConformanceTests {
    private static let swapping: Set<RemoteKind> = [.local, .sftp, .crypt]

    /// Of all remotes, those that differ most, unless all are asked for (`scripts/test stores`).
    private static let kinds: [RemoteKind] =
        ProcessInfo.processInfo.environment["HYDRANT_TEST_REMOTES"] == "all"
        ? RemoteKind.allCases : [.memory, .sftp]

    @Test(arguments: kinds) func aRemoteKeepsTheRules(_ kind: RemoteKind) async throws {
        try await withRemote(kind) { remote in
            let provider = try remote.provider()
            // What `memory` has is in one process.
            let other = kind == .memory ? provider : try remote.provider()
            if kind == .memory { try await provider.makeRoot() }
            // Two clients that save at the same moment: without swaps there is the window that the documentation names.
            let rules = ConformanceSuite.rules.filter { Self.swapping.contains(kind) || $0.number != 804 }
            let result = await ConformanceSuite(provider: provider, otherClient: other, rules: rules).run()
            print("\(kind): \(result)")
            await provider.invalidate()
            if kind != .memory { await other.invalidate() }
            #expect(result.isPassed, "\(result)")
        }
    }
}
