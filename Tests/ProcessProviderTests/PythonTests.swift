import FileProviderTesting
import Foundation
import MountHarness
import ProcessProvider
import Testing

/// The Python package, and the providers in it.
@Suite("Providers in Python")
struct PythonTests {
    static let folder = URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/PythonProvider", directoryHint: .isDirectory).path
    static let shelf = "\(folder)/examples/hydrant-provider-shelf"

    /// Runs a program of the examples with the package beside it.
    static func words(_ program: String) -> [String] {
        ["env", "PYTHONPATH=\(folder)", "PYTHONDONTWRITEBYTECODE=1", program]
    }

    static func command(_ program: String, store: String, path: String) -> ProgramCommand {
        ProgramCommand(words: words(program), store: store, path: path, workingDirectory: "/", release: "test")
    }

    @Test("the example has fewer than 60 lines")
    func length() throws {
        let text = try String(contentsOfFile: Self.shelf, encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 < 60)
    }

    @Test("the example keeps every rule, with two clients of one store")
    func shelf() async throws {
        let file = FileManager.default.temporaryDirectory.path + "/hydrant-shelf-\(UUID().uuidString).db"
        defer { for end in ["", "-journal", "-wal", "-shm"] { unlink(file + end) } }
        let command = Self.command(Self.shelf, store: "shelf:\(file)", path: file)
        let provider = try await ProcessProvider.start(command, logger: nil)
        let other = try await ProcessProvider.start(command, logger: nil)
        let report = await ConformanceSuite(provider: provider, otherClient: other).run()
        await provider.end()
        await other.end()
        #expect(report.isPassed && report.cleanupProblem == nil, "\(report)")
        #expect(report.results.count - report.skipped.count > 60, "\(report)")
    }
}
