import Foundation
import Testing

/// The tables of `scripts/mutation-test` name places in the sources: one that is not there any more would break nothing.
@Suite struct MutationTableTests {
    /// In the copy in which they are broken they are not there.
    private static let isCopy = FileManager.default.fileExists(
        atPath: GuideTests.root.appending(path: "Sources/Volume/Mutant.swift").path)

    @Test(.enabled(if: !isCopy)) func everyPlaceIsStillThere() throws {
        let script = GuideTests.root.appending(path: "scripts/mutation-test.d/mutation_test.py").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3", directoryHint: .notDirectory)
        process.arguments = ["-B", script, "--check"]
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("mutations, and every place exists"), "\(text)")
    }
}
