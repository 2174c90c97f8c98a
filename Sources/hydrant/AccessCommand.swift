import ArgumentParser
import ControlAPI
import FileCoordination
import Foundation

struct AccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access", abstract: "Give a program one item, and nothing else of its domain.",
        discussion: """
            While COMMAND runs, the bookmark's item is in a folder of its own, below $XDG_RUNTIME_DIR/hydrant/scoped, \
            that a sandbox can bind. The argument {} of COMMAND becomes the item's path there, {folder} the folder's; \
            the environment has both, as HYDRANT_SCOPED_PATH and HYDRANT_SCOPED_FOLDER. Programs can save as usual, \
            with temporary files beside the document; Hydrant removes leftover ones when COMMAND ends.

            Without COMMAND, the item is there until standard input ends, and the command prints its path: for \
            programs in other languages. The right ends early when it is revoked (hydrant grants), when it expires, or \
            when this command is killed.

            Examples:
              hydrant access letter.bookmark -- nano {}
              hydrant access letter.bookmark -- bwrap --ro-bind /usr /usr --symlink usr/lib /lib \\
                --symlink usr/lib64 /lib64 --symlink usr/bin /bin --bind {folder} /document -- sh -c 'cat /document/*'
              coproc hydrant access letter.bookmark --json; read -u ${COPROC[0]} granted

            Exit status: that of COMMAND; 1 no such right, or it has ended; 69 no mounted domain made the bookmark.
            """)

    @Argument(help: "The bookmark, or a file that holds it.", completion: .file())
    var bookmark: String

    @Flag(help: "Without COMMAND, print an object when the item is there: path, folder, writable.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The command to run.")
    var command: [String] = []

    func validate() throws {
        try ItemWords.check(command, [ItemWords.items, ItemWords.folder])
        if json && !command.isEmpty { throw ValidationError("--json is for holding the item without a command") }
        if bookmark == "-" && command.isEmpty {
            throw ValidationError("the bookmark comes from standard input, whose end would end the access; name a file")
        }
    }

    func run() async throws {
        let bookmark = try Bookmark(named: bookmark)
        let program = try command.first.map { try Executable.find($0) }
        let status = try await saying {
            guard let scoped = try await bookmark.resolve().scopedURL else {
                throw CoordinationError(
                    .notGranted, "the bookmark carries no right, or its right has ended; ask for another bookmark")
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
            // The end of the right may be why the command failed; its message comes first.
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
            // Until standard input ends, or the right does.
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
