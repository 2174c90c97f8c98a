import DirectoryProvider
import FileProvider
import FileProviderTesting
import Testing

/// The rules that every provider keeps, with a second provider on the same directory as the other client.
@Suite(.serialized) struct DirectoryProviderConformanceTests {
    @Test func directoryProviderKeepsEveryRule() async throws {
        let store = try TestStore()
        // What is there already is tried as well.
        store.makeFolder("folder")
        store.makeFolder("folder/inner")
        try store.write("text", to: "document")
        try store.write("", to: "empty")
        try store.write(String(repeating: "0123456789", count: 5_000), to: "folder/inner/large")
        store.shell("ln -s inner folder/link && mkfifo folder/pipe && printf x >\"$(printf 'not\\377utf8')\"")
        let report = await ConformanceSuite(provider: store.provider, otherClient: try store.again()).run()
        #expect(report.isPassed, "\(report)")
        #expect(report.cleanupProblem == nil)
        // It keeps extended attributes, and reads what is there.
        let skipped = report.skipped.map(\.rule.number)
        #expect(!skipped.contains { (907...914).contains($0) || (1001...1017).contains($0) }, "\(report)")
        #expect(store.read("document") == "text")
    }
}
