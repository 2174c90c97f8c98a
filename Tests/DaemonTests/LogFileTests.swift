import Foundation
import Logging
import Testing

@testable import Daemon

@Suite("The log of daemons in the background")
struct LogFileTests {
    /// Gone with the test.
    private final class Folder {
        let path: String
        init() throws {
            path = FileManager.default.temporaryDirectory.path + "/hydrant-log-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        func text(_ name: String) -> String? {
            FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(
        "at its size limit the log becomes the older log, and every daemon continues in a new one; no line is lost or cut"
    )
    func rotation() throws {
        let folder = try Folder()
        let file = LogFile(path: folder.path + "/hydrant.log", limit: 1_000)
        let descriptors = [try file.open(), try file.open()]
        defer { for descriptor in descriptors { close(descriptor) } }
        let streams = descriptors.map { LogStream(file, descriptor: $0) }
        var whole = ""
        var seen: Set<String> = []
        for number in 0..<200 {
            let line = "line \(number) " + String(repeating: "x", count: 40) + "\n"
            streams[number % 2].write(line)
            whole += line
            // What is in the two files is the end of all that was written.
            let kept = (folder.text("hydrant.log.1") ?? "") + (folder.text("hydrant.log") ?? "")
            #expect(whole.hasSuffix(kept) && kept.utf8.count <= 2_200 && kept.hasSuffix(line))
            if let older = folder.text("hydrant.log.1") { seen.insert(older) }
        }
        #expect(seen.count >= 8)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)).count == 3)
    }

    @Test("after a user moves the log away, a new one is made; an item at its path that is not a file is left alone")
    func movedAway() throws {
        let folder = try Folder()
        let file = LogFile(path: folder.path + "/hydrant.log")
        let descriptor = try file.open()
        defer { close(descriptor) }
        LogStream(file, descriptor: descriptor).write("one\n")
        #expect(rename(file.path, folder.path + "/mine") == 0)
        LogStream(file, descriptor: descriptor).write("two\n")
        #expect(folder.text("mine") == "one\n" && folder.text("hydrant.log") == "two\n")
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        LogStream(file, descriptor: null).write("three\n")
        #expect(folder.text("hydrant.log") == "two\n")
    }

    @Test("a link or another user's folder in the log's place is not followed; without HOME there is no log")
    func links() throws {
        let folder = try Folder()
        let victim = folder.path + "/victim"
        try Data("theirs\n".utf8).write(to: URL(filePath: victim, directoryHint: .notDirectory))
        let environment = ["XDG_STATE_HOME": folder.path]
        let file = try LogFile.usual(in: environment)
        #expect(file.path == folder.path + "/hydrant/hydrant.log")
        #expect(symlink(victim, file.path) == 0)
        #expect(throws: DaemonError.self) { try file.open() }
        #expect(unlink(file.path) == 0 && mkfifo(file.path, 0o600) == 0)
        #expect(throws: DaemonError.self) { try file.open() }
        #expect(unlink(file.path) == 0)
        close(try file.open())
        if geteuid() == 0 {
            #expect(chown(file.path, 65_534, 65_534) == 0)
            #expect(throws: DaemonError.self) { try file.open() }
            #expect(chown(folder.path + "/hydrant", 65_534, 65_534) == 0)
            #expect(throws: DaemonError.self) { try LogFile.usual(in: environment) }
        }
        try FileManager.default.removeItem(atPath: folder.path + "/hydrant")
        #expect(symlink(folder.path, folder.path + "/hydrant") == 0)
        #expect(throws: DaemonError.self) { try LogFile.usual(in: environment) }
        #expect(folder.text("victim") == "theirs\n")
        for environment in [[:], ["HOME": ""], ["XDG_STATE_HOME": "", "HOME": "here"]] {
            #expect(throws: DaemonError.self) { try LogFile.usual(in: environment) }
        }
    }

    @Test("a name with a newline or an escape sequence stays within its line, anywhere in a message")
    func names() throws {
        let folder = try Folder()
        let file = LogFile(path: folder.path + "/hydrant.log")
        let descriptor = try file.open()
        defer { close(descriptor) }
        let logger = Logger(label: "hydrant") {
            StreamLogHandler(label: $0, stream: LogStream(file, descriptor: descriptor))
        }
        let name = "a\n2026-01-01T00:00:00+0000 info hydrant: [Daemon] unmounted\u{1b}[2J"
        logger.warning("cannot send \(name)", error: DaemonError(name), metadata: ["item": "\(name)"])
        let text = try #require(folder.text("hydrant.log"))
        #expect(text.split(separator: "\n").count == 1 && !text.contains("\u{1b}"))
        #expect(text.contains("cannot send a\\n2026") && text.contains("\\x1b[2J"))
    }
}
