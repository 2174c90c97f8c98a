import ArgumentParser
import ControlAPI
import FileCoordination
import Foundation

struct AccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access", abstract: "Use what a bookmark grants: one item, and nothing else of its domain.",
        discussion: """
            While COMMAND runs the item is in a folder of its own, below $XDG_RUNTIME_DIR/hydrant/scoped, that a sandbox can \
            bind. In COMMAND, {} as an argument of its own stands for the item there, {folder} for the folder; both are in the environment as \
            HYDRANT_SCOPED_PATH and HYDRANT_SCOPED_FOLDER. Programs can save as they are used to, with temporary files beside \
            the document; what is left of those goes when COMMAND ends.

            Without COMMAND the item is there until standard input ends, and a line says where: for programs in other \
            languages. The right ends early when it is revoked (hydrant grants), its time is over, or this command is killed.

            Examples:
              hydrant access letter.bookmark -- nano {}
              hydrant access letter.bookmark -- bwrap --ro-bind /usr /usr --symlink usr/lib /lib \\
                --symlink usr/lib64 /lib64 --symlink usr/bin /bin --bind {folder} /document -- sh -c 'cat /document/*'
              coproc hydrant access letter.bookmark --json; read -u ${COPROC[0]} granted

            Exit status: that of COMMAND; 1 there is no such right (any more); 69 no mounted domain has made the bookmark.
            """)

    @Argument(help: "The bookmark, or a file that it is in.", completion: .file())
    var bookmark: String

    @Flag(help: "Without COMMAND, print an object when the item is there: path, folder, writable.")
    var json = false

    @Argument(parsing: .postTerminator, help: "What to run.")
    var command: [String] = []

    func validate() throws {
        try ItemWords.check(command, [ItemWords.items, ItemWords.folder])
        if json && !command.isEmpty { throw ValidationError("--json is for holding the item without a command") }
        if bookmark == "-" && command.isEmpty {
            throw ValidationError("standard input cannot be both the bookmark and what the item is held for")
        }
    }

    func run() async throws {
        let bookmark = try Bookmark(named: bookmark)
        let program = try command.first.map { try Executable.find($0) }
        let status = try await saying {
            guard let scoped = try await bookmark.resolve().scopedURL else {
                throw CoordinationError(.notGranted, "the bookmark carries no right (any more); ask for one that does")
            }
            let url = try await scoped.startAccessing(as: program)
            let watch = Task {
                if let ended = await scoped.accessEnded() { warn(ended.message) }
            }
            let status: Int32
            do { status = try await use(url, scoped) } catch {
                watch.cancel()
                throw error
            }
            await scoped.stopAccessing()
            // What failed in the command may have failed because of it.
            await watch.value
            return status
        }
        if status != 0 { throw ExitCode(status) }
    }

    private struct Held: Encodable {
        var path: String
        var folder: String
        var writable: Bool
    }

    private func use(_ url: URL, _ scoped: SecurityScopedURL) async throws -> Int32 {
        let path = ByteText.text(of: url)
        let folder = (path as NSString).deletingLastPathComponent
        if command.isEmpty {
            let held = Held(path: ByteText.shown(path), folder: ByteText.shown(folder), writable: scoped.isWritable)
            try json ? StandardOutput.write(Output.json(held, oneLine: true)) : StandardOutput.write(paths: [path])
            // Until nobody wants it any more, or it is taken away.
            let (ends, signal) = AsyncStream<Int32>.makeStream()
            Task {
                await StandardInput.end()
                signal.yield(0)
            }
            Task { if await scoped.accessEnded() != nil { signal.yield(CommandExit.failed) } }
            for await status in ends { return status }
            return 0
        }
        let words = ItemWords.replaced(in: command, by: [ItemWords.items: [path], ItemWords.folder: [folder]])
        return try await ChildCommand(
            words: words, environment: ["HYDRANT_SCOPED_PATH": path, "HYDRANT_SCOPED_FOLDER": folder]
        ).run()
    }
}
