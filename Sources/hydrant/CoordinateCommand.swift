import ArgumentParser
import ControlAPI
import FileCoordination
import Foundation

struct CoordinateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinate", abstract: "Run a command while no other program uses the items that it needs.",
        discussion: """
            This holds against programs that coordinate as well: by this command, in Swift (FileCoordination), or in \
            the document picker. Any number of programs may read an item at a time, or one may write it; writing a \
            folder covers everything in it. Hydrant grants all items at once, and downloads those to read first. The \
            argument {} of COMMAND becomes the items' paths at that time, in the order given.

            Without COMMAND, the items are held until standard input ends, and the command prints a line when it has \
            them: for programs in other languages. A command started within another's coordination may use what that \
            one holds if both have the same --purpose. A request that could only wait for ever is refused.

            Examples:
              hydrant coordinate --write notes.txt -- sh -c 'sort -o "$0" "$0"' {}
              hydrant coordinate --read ~/Documents/a --write ~/Documents/b -- cp {}
              hydrant coordinate --read report.odt --for uploading -- curl -T {} https://example.org/in/
              coproc hydrant coordinate --write notes.txt --json; read -u ${COPROC[0]} granted

            Exit status: that of COMMAND; 64 wrong usage; 69 no daemon answers; 75 not granted in time, or the request \
            would wait for ever; 1 anything else.
            """)

    @Option(help: ArgumentHelp("An item to read; may be repeated.", valueName: "path"), completion: .file())
    var read: [String] = []

    @Option(help: ArgumentHelp("An item to write or create; may be repeated.", valueName: "path"), completion: .file())
    var write: [String] = []

    enum Aim: String, CaseIterable, ExpressibleByArgument { case deleting, moving, merging, replacing, uploading }

    @Option(
        name: .customLong("for"),
        help:
            "The kind of access. With --write: deleting, moving, merging (downloads first) or replacing. With --read: uploading (from a copy that does not change)."
    )
    var aim: Aim?

    @Flag(help: "Access names, dates and attributes only: download nothing, and ask no program that shows an item.")
    var metadataOnly = false

    @Flag(help: "Do not ask programs that show an item to save it first.")
    var withoutChanges = false

    @Option(
        help: ArgumentHelp("A purpose; accesses of one purpose do not wait for each other.", valueName: "identifier"))
    var purpose: String?

    @Option(help: ArgumentHelp("Seconds to wait at most, downloads included.", valueName: "seconds"))
    var timeout: Seconds?

    @Flag(help: "Without COMMAND, print an object when the items are held: granted, reading, writing.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The command to run.")
    var command: [String] = []

    func validate() throws {
        if read.isEmpty && write.isEmpty { throw ValidationError("name an item with --read or --write") }
        switch aim {
        case .uploading? where read.isEmpty: throw ValidationError("--for uploading needs --read")
        case .deleting?, .moving?, .merging?, .replacing?:
            if write.isEmpty { throw ValidationError("--for \(aim!.rawValue) needs --write") }
        default: break
        }
        try ItemWords.check(command, [ItemWords.items])
        if json && !command.isEmpty { throw ValidationError("--json is for holding the items without a command") }
    }

    func run() async throws {
        // Without a command the items are held for our parent.
        let asker =
            command.first.map { FileCoordinator.Asker(name: ($0 as NSString).lastPathComponent) }
            ?? FileCoordinator.Asker(process: getppid())
        let coordinator = FileCoordinator(purposeIdentifier: purpose, onBehalfOf: asker)
        let status: Int32
        do {
            status = try await coordinator.coordinate(with: intents, timeout: timeout.map { .seconds($0.value) }) {
                granted in
                if command.isEmpty { return try await hold(granted) }
                return try await CoordinatedCommand(
                    words: ItemWords.replaced(
                        in: command, by: [ItemWords.items: granted.map { ByteText.text(of: $0.url) }])
                ).run()
            }
        } catch let error as CoordinationError {
            throw fail(error.message, Self.status(error.code))
        }
        if status != 0 { throw ExitCode(status) }
    }

    private static func status(_ code: CoordinationError.Code) -> Int32 {
        switch code {
        case .notRunning: CommandExit.unavailable
        case .timedOut, .wouldDeadlock: CommandExit.tryAgain
        default: CommandExit.failed
        }
    }

    private var intents: [FileAccessIntent] {
        var reading: FileCoordinator.ReadingOptions = []
        var writing: FileCoordinator.WritingOptions = []
        if metadataOnly {
            reading.insert(.immediatelyAvailableMetadataOnly)
            writing.insert(.contentIndependentMetadataOnly)
        }
        if withoutChanges { reading.insert(.withoutChanges) }
        switch aim {
        case .uploading?: reading.insert(.forUploading)
        case .deleting?: writing.insert(.forDeleting)
        case .moving?: writing.insert(.forMoving)
        case .merging?: writing.insert(.forMerging)
        case .replacing?: writing.insert(.forReplacing)
        case nil: break
        }
        let url = ByteText.url
        return read.map { .readingIntent(with: url($0), options: reading) }
            + write.map { .writingIntent(with: url($0), options: writing) }
    }

    private struct Held: Encodable {
        var granted = true
        var reading: [String]
        var writing: [String]
    }

    private func hold(_ granted: [FileAccessIntent]) async throws -> Int32 {
        let paths = granted.map { ByteText.text(of: $0.url) }
        let shown = paths.map(ByteText.shown)
        let held = Held(reading: Array(shown.prefix(read.count)), writing: Array(shown.dropFirst(read.count)))
        try json ? StandardOutput.write(Output.json(held, oneLine: true)) : StandardOutput.write(paths: paths)
        await StandardInput.end()
        return 0
    }
}
