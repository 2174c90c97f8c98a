import DirectoryProvider
import FileProvider
import FileProviderTesting
import Testing

/// The rules that every provider keeps, with a second provider on the same directory as the other client.
@Suite(.serialized) struct DirectoryProviderConformanceTests {
    @Test func directoryProviderKeepsEveryRule() async throws {
        let store = try TestStore()
        let report = await ConformanceSuite(provider: store.provider, otherClient: try store.again()).run()
        #expect(report.isPassed, "\(report)")
        #expect(report.cleanupProblem == nil)
    }
}
