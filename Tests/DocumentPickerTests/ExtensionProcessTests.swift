import Foundation
import Synchronization
import Testing

@testable import DocumentPicker

/// An extension that is a program: what it hears of its dismissal, and what the user hears of it.
@Suite("An extension's process")
struct ExtensionProcessTests {
    /// A program that dismisses with a path, writes down what it is told then, and hands on what it is refused.
    private final class Program: Sendable {
        let folder = NSTemporaryDirectory() + "hydrant-extension-\(UUID().uuidString)"
        var path: String { folder + "/program" }

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let script = #"""
                #!/bin/sh
                read -r prepare
                echo '{"page": {}}'
                read -r action
                echo '{"dismiss": "/some/document"}'
                if read -r told; then echo "$told"; else echo nothing; fi > "$0.new"
                mv "$0.new" "$0.told"
                case $told in *refused*) echo "$told" | sed 's/refused/failed/' ;; esac
                echo '{"page": {"message": "done"}}'
                cat > /dev/null
                """#
            // (Written by another process: else one that is forked meanwhile by another test has it open for writing, and it
            // cannot be executed: ETXTBSY, execve(2).)
            let writer = Process()
            writer.executableURL = URL(filePath: "/bin/sh")
            writer.arguments = ["-c", #"printf '%s\n' "$1" >"$0" && chmod 755 "$0""#, path, script]
            try writer.run()
            writer.waitUntilExit()
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func lastMessage() async throws -> String {
            while !FileManager.default.fileExists(atPath: path + ".told") {
                try await Task.sleep(for: .milliseconds(20))
            }
            return try String(contentsOfFile: path + ".told", encoding: .utf8)
        }
    }

    private final class Events: Sendable {
        let process = Mutex<ExtensionProcess?>(nil)
        let failures = Mutex<[String]>([])
        let messages = Mutex<[String]>([])

        func context(_ dismiss: @escaping @Sendable (Events) async throws -> Void) -> DocumentPickerContext {
            DocumentPickerContext(
                providerIdentifier: nil, documentStorageURL: nil, documentGroupURL: nil,
                shows: { page in if let message = page.message { self.messages.withLock { $0.append(message) } } },
                dismisses: { _ in try await dismiss(self) },
                fails: { error in self.failures.withLock { $0.append("\(error)") } })
        }
    }

    @Test("an extension learns that its dismissal succeeded, although the picker has closed", .timeLimit(.minutes(10)))
    func success() async throws {
        let (program, events) = (try Program(), Events())
        // As the session does: what was asked for is done, and the presentation is over.
        let context = events.context { events in events.process.withLock { $0 }?.end() }
        let process = ExtensionProcess(context: context, program: program.path)
        events.process.withLock { $0 = process }
        try await process.prepareForPresentation(in: .open)
        try await process.handle(.choose("x"))
        #expect(try await program.lastMessage() == "{\"dismissed\":true}\n")
    }

    @Test("an extension learns that the user closed the picker without a choice", .timeLimit(.minutes(10)))
    func closed() async throws {
        let (program, events) = (try Program(), Events())
        let context = events.context { events in
            events.process.withLock { $0 }?.end()
            throw CancellationError()
        }
        let process = ExtensionProcess(context: context, program: program.path)
        events.process.withLock { $0 = process }
        try await process.prepareForPresentation(in: .open)
        await #expect(throws: CancellationError.self) { try await process.handle(.choose("x")) }
        #expect(try await program.lastMessage() == "{\"refused\":\"the picker was closed; nothing was taken\"}\n")
    }

    @Test("the user sees an error once, also when the extension passes it on", .timeLimit(.minutes(10)))
    func refused() async throws {
        let (program, events) = (try Program(), Events())
        let context = events.context { _ in throw DocumentPickerError("it lies outside") }
        let process = ExtensionProcess(context: context, program: program.path)
        try await process.prepareForPresentation(in: .open)
        await #expect(throws: DocumentPickerError("it lies outside")) { try await process.handle(.choose("x")) }
        while events.messages.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(events.failures.withLock { $0 } == [])
        process.end()
    }
}
