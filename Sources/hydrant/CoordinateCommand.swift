import ArgumentParser
import ControlAPI
import FileCoordination
import Foundation

struct CoordinateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinate", abstract: "Run a command while nobody else has the items that it needs.",
        discussion: """
            Nobody else: of those who coordinate as well, whether by this command, in Swift (FileCoordination) or in the \
            document picker. Any number may read an item at a time, or one write it; who writes a folder has all that is in \
            it. All items are granted at once; those that are read are downloaded first. In COMMAND, {} as an argument of \
            its own stands for the places where they are then, in the order given.

            Without COMMAND the items are held until standard input ends, and a line says when they are: for programs in \
            other languages. A command that is started within another's coordination may use what that one holds if it has \
            the same --purpose; what could only end in waiting for ever is refused.

            Examples:
              hydrant coordinate --write notes.txt -- sh -c 'sort -o "$0" "$0"' {}
              hydrant coordinate --read ~/Documents/a --write ~/Documents/b -- cp {}
              hydrant coordinate --read report.odt --for uploading -- curl -T {} https://example.org/in/
              coproc hydrant coordinate --write notes.txt --json; read -u ${COPROC[0]} granted

            Exit status: that of COMMAND; 64 wrong usage; 69 no daemon answers; 75 not granted in time, or it would wait for \
            ever; 1 anything else.
            """)

    @Option(help: ArgumentHelp("Read this item; may be repeated.", valueName: "path"), completion: .file())
    var read: [String] = []

    @Option(help: ArgumentHelp("Write this item, or make it; may be repeated.", valueName: "path"), completion: .file())
    var write: [String] = []

    enum Aim: String, CaseIterable, ExpressibleByArgument { case deleting, moving, merging, replacing, uploading }

    @Option(
        name: .customLong("for"),
        help:
            "What is done to what is written: deleting, moving, merging (downloads first) or replacing; to what is read: uploading (a copy that stays as it is)."
    )
    var aim: Aim?

    @Flag(help: "Only names, dates and attributes: nothing is downloaded, and nobody who shows an item is asked.")
    var metadataOnly = false

    @Flag(help: "Who shows an item need not save it first.")
    var withoutChanges = false

    @Option(help: ArgumentHelp("Those of one purpose do not wait for each other.", valueName: "identifier"))
    var purpose: String?

    @Option(help: ArgumentHelp("How long to wait, downloads included.", valueName: "seconds"))
    var timeout: Seconds?

    @Flag(help: "Without COMMAND, print an object when the items are held: granted, reading, writing.")
    var json = false

    @Argument(parsing: .postTerminator, help: "What to run.")
    var command: [String] = []

    func validate() throws {
        if read.isEmpty && write.isEmpty { throw ValidationError("name what to --read or to --write") }
        switch aim {
        case .uploading? where read.isEmpty: throw ValidationError("--for uploading is for what is read")
        case .deleting?, .moving?, .merging?, .replacing?:
            if write.isEmpty { throw ValidationError("--for \(aim!.rawValue) is for what is written") }
        default: break
        }
        try ItemWords.check(command, [ItemWords.items])
        if json && !command.isEmpty { throw ValidationError("--json is for holding the items without a command") }
    }

    func run() async throws {
        // Whoever holds the items without a command is the one that this runs for.
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
