import FileManagers
import Foundation
import Testing

/// The files of the extensions, in a folder of data.
@Suite struct InstallationTests {
    private let home: String
    private let managers: FileManagers
    private let extensionPath = "nautilus-python/extensions/hydrant_nautilus.py"

    init() throws {
        home = NSTemporaryDirectory() + "file-managers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        managers = FileManagers(dataHome: home, program: "/opt/a \"place\"/hydrant")
    }

    private func everything() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: home).sorted() }

    private func end() { try? FileManager.default.removeItem(atPath: home) }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: home + "/" + path, encoding: .utf8)
    }

    private func write(_ text: String, _ path: String) throws {
        let url = URL(filePath: home + "/" + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: url, atomically: false, encoding: .utf8)
    }

    @Test func whatIsInstalledIsRemoved() throws {
        defer { end() }
        try write("somebody's own", "nautilus-python/extensions/own.py")
        let before = try everything()
        #expect(try managers.status().allSatisfy { $0.state == .missing })
        #expect(try managers.install().allSatisfy { $0.state == .written })
        #expect(try managers.status().allSatisfy { $0.state == .installed })
        #expect(try managers.install().allSatisfy { $0.state == .installed })
        #expect(try text("hydrant/desktop/hydrant_items.py").contains(#"or "/opt/a \"place\"/hydrant""#))
        #expect(try text(extensionPath).contains("sys.path.append(\"\(home)/hydrant/desktop\")"))
        // What Python leaves of the modules.
        for folder in [
            "hydrant/desktop/__pycache__/hydrant_items", "nautilus-python/extensions/__pycache__/hydrant_nautilus",
        ] {
            try write("compiled", folder + ".cpython-311.pyc")
        }
        #expect(try managers.remove().allSatisfy { $0.state == .removed })
        #expect(try everything() == before)
        #expect(try managers.remove().isEmpty)
    }

    @Test func aChangedFileStays() throws {
        defer { end() }
        _ = try managers.install()
        try write("# mine", extensionPath)
        func states(_ reports: [FileManagers.Report]) -> [FileManagers.Report.State] {
            reports.filter { $0.path.hasSuffix(extensionPath) }.map(\.state)
        }
        #expect(states(try managers.status()) == [.changed])
        #expect(states(try managers.install()) == [.changed])
        #expect(states(try managers.remove()) == [.changed])
        #expect(try everything().filter { !$0.hasPrefix("nautilus-python") } == [])
        #expect(try text(extensionPath) == "# mine")
    }

    @Test func aFileOfAnotherVersionIsReplacedAndRemoved() throws {
        defer { end() }
        _ = try FileManagers(dataHome: home, program: "/elsewhere/hydrant").install()
        #expect(try managers.status().contains { $0.state == .outdated })
        #expect(try managers.install().contains { $0.state == .written })
        #expect(try managers.status().allSatisfy { $0.state == .installed })
        #expect(
            try FileManagers(dataHome: home, program: "/elsewhere/hydrant").remove().allSatisfy { $0.state == .removed }
        )
        #expect(try everything() == [])
    }

    @Test(arguments: [false, true]) func noLinkLeadsOut(_ isFile: Bool) throws {
        defer { end() }
        let outside = home + "/outside"
        try write("untouched", isFile ? "outside" : "outside/hydrant_nautilus.py")
        if isFile {
            try FileManager.default.createDirectory(
                atPath: home + "/nautilus-python/extensions", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: home + "/" + extensionPath, withDestinationPath: outside)
            #expect(try managers.install().contains { $0.path.hasSuffix(extensionPath) && $0.state == .changed })
        } else {
            try FileManager.default.createDirectory(
                atPath: home + "/nautilus-python", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: home + "/nautilus-python/extensions", withDestinationPath: outside)
            #expect(throws: FileManagersError.self) { try managers.install() }
            #expect(throws: FileManagersError.self) { try managers.remove() }
        }
        #expect(try text(isFile ? "outside" : "outside/hydrant_nautilus.py") == "untouched")
    }
}
