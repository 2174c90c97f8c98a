import FileProvider
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

    @Test("whatever a hook raises or returns, its request is answered, and the program lives", .timeLimit(.minutes(2)))
    func awkward() async throws {
        let program = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .appending(path: "Servers/awkward_errors.py", directoryHint: .notDirectory).path
        var command = Self.command("python3", store: "awkward:x", path: "/x")
        command.words.append(program)
        let provider = try await ProcessProvider.start(command, logger: nil)
        do {
            let expected: [(String, FileProviderError.Code, String)] = [
                ("surrogate", .versionMismatch, #"caf\udce9: has changed"#),
                ("exception", .serverUnreachable, "the line is cut"), ("item", .versionMismatch, "has changed"),
                ("identifier", .cannotSynchronize, "cannot be sent"), ("number", .cannotSynchronize, "cannot be sent"),
                ("none", .noSuchItem, "there is no such item"),
            ]
            for (name, code, words) in expected {
                let error = await #expect(throws: FileProviderError.self, "\(name)") {
                    try await provider.providePlaceholder(for: ItemIdentifier(name))
                }
                #expect(error?.code == code && error?.message.contains(words) == true, "\(String(describing: error))")
                if name == "surrogate" { #expect(error?.item?.filename.bytes == Array("caf".utf8) + [0xe9]) }
            }
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.leftOut.map(\.reason) == [#"caf\udce9"#])
            // A program that it runs reads nothing of the conversation.
            #expect(try await provider.providePlaceholder(for: ItemIdentifier("child")).identifier.rawValue == "child")
            await provider.end()
        } catch {
            await provider.end()
            throw error
        }
    }

    // MARK: A mailbox

    private static let dovecot = ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Runs Dovecot while `body` runs; passes its port and its folder.
    private static func withMailbox(_ body: (_ port: String, _ folder: String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hydrant-imap-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = Process()
        let script = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .appending(path: "Servers/dovecot_mailbox.py", directoryHint: .notDirectory)
        server.executableURL = URL(filePath: "/usr/bin/env", directoryHint: .notDirectory)
        server.arguments = ["python3", script.path, folder]
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = "\(environment["PATH"] ?? "/usr/bin:/bin"):/usr/sbin:/usr/local/sbin"
        server.environment = environment
        let (input, output) = (Pipe(), Pipe())
        (server.standardInput, server.standardOutput) = (input, output)
        try server.run()
        // It ends the server when its input ends, also when this process is killed.
        defer {
            try? input.fileHandleForWriting.close()
            server.waitUntilExit()
        }
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(Int(port) != nil, "Dovecot has not started")
        try await body(port, folder)
    }

    @Test(
        "a mailbox: its attachments, with the dates of their messages; every rule for what is read",
        .enabled(if: dovecot != nil))
    func mailbox() async throws {
        try await Self.withMailbox { port, folder in
            var command = Self.command(
                "\(Self.folder)/examples/hydrant-provider-imap", store: "imap://ada@127.0.0.1:\(port)/?plain=1",
                path: "/")
            command.words.insert("HYDRANT_IMAP_NETRC=\(folder)/netrc", at: 1)
            let provider = try await ProcessProvider.start(command, logger: nil)
            do {
                let report = await ConformanceSuite(provider: provider).run()
                #expect(report.isPassed, "\(report)")
                let top = try await Peer.items(provider)
                #expect(Set(top.keys) == ["INBOX", "Strange", "Work"])
                // What strangers send does not hide the rest.
                let strange = try await provider.enumerateItems(
                    in: try #require(top["Strange"]).identifier, startingAt: nil)
                let good = try #require(strange.items.first { $0.filename == "good.txt" })
                #expect(good.size == 4)
                let first = try #require(strange.items.first { $0.filename == "=?utf-8?b?A?=" })
                #expect(first.size == 3 && first.contentModificationDate.seconds == 1_583_489_472)
                // (What there is of it.)
                let cut = try #require(strange.items.first { $0.filename == "cut" })
                #expect(cut.size == 3 && strange.items.count == 4, "\(strange)")
                let rest = CollectingSink(range: 0..<3)
                try await provider.startProvidingItem(
                    cut.identifier, version: cut.version.content, range: 0..<3, into: rest)
                #expect(rest.bytes == Array("ABC".utf8))
                let inbox = try #require(top["INBOX"])
                let items = try await provider.enumerateItems(in: inbox.identifier, startingAt: nil).items
                #expect(Set(items.map(\.filename)) == ["report.pdf", "grün.txt", "report (2, 2).pdf"])
                let report1 = try #require(items.first { $0.filename == "report.pdf" })
                // (Dovecot says another size than it sends.)
                #expect(report1.size == 307_200 && report1.contentModificationDate.seconds == 1_583_226_672)
                let sink = CollectingSink(range: 0..<report1.size)
                try await provider.startProvidingItem(
                    report1.identifier, version: report1.version.content, range: 0..<report1.size, into: sink)
                let whole = (0..<1_200).flatMap { _ in (0...255).map { UInt8($0) } }
                // (Not in #expect, which would look for the differences for minutes.)
                let isSame = sink.bytes == whole
                #expect(isSame)
                let work = try await provider.enumerateItems(
                    in: try #require(top["Work"]).identifier, startingAt: nil
                ).items
                let books = try #require(work.first)
                #expect(work.map(\.filename) == ["Bücher"])
                let inBooks = try await provider.enumerateItems(in: books.identifier, startingAt: nil).items
                #expect(inBooks.map(\.filename) == ["a_b.txt"])
                await provider.end()
            } catch {
                await provider.end()
                throw error
            }
        }
    }
}
