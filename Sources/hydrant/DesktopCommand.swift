import ArgumentParser
import FileManagers
import Foundation
import Surroundings

struct DesktopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Show in file managers which documents are here: emblems, a menu, a column.",
        discussion: """
            Writes extensions for this user's file managers into $XDG_DATA_HOME (~/.local/share), and removes them. \
            They need the file managers' bindings for Python: install and status name the packages of Debian that are \
            missing. A file manager loads them when it starts.

            Examples:
              hydrant desktop install && nautilus -q
              hydrant desktop status
              hydrant desktop remove
            """,
        subcommands: [Install.self, Remove.self, Status.self])

    struct Install: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "install", abstract: "Write the extensions, or bring them up to date.",
            discussion: """
                A file that somebody has changed stays as it is, and the command ends with status 1.

                Example: hydrant desktop install && nautilus -q
                """)

        @OptionGroup var output: DesktopOutput

        func run() async throws {
            let reports = try DesktopCommand.with { try $0.install() }
            try output.write(reports)
            output.warnOfPackages()
            try DesktopCommand.failIfChanged(
                reports, "is as somebody has changed it; remove or rename it, and install again")
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove the extensions that install has written.",
            discussion: """
                A file that somebody has changed stays, and the command ends with status 1.

                Example: hydrant desktop remove && nautilus -q
                """)

        @OptionGroup var output: DesktopOutput

        func run() async throws {
            let reports = try DesktopCommand.with { try $0.remove() }
            try output.write(reports)
            try DesktopCommand.failIfChanged(reports, "stays: somebody has changed it")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show which extensions are installed, and what file managers lack.",
            discussion: "Example: hydrant desktop status --json")

        @OptionGroup var output: DesktopOutput

        func run() async throws {
            let reports = try DesktopCommand.with { try $0.status() }
            try output.write(reports)
            if !output.json { output.warnOfPackages() }
        }
    }

    static func with<Result>(_ body: (FileManagers) throws -> Result) throws -> Result {
        guard let home = BaseDirectory.data.path() else { throw fail(BaseDirectory.data.missing) }
        do { return try body(FileManagers(dataHome: home, program: program)) } catch let error as FileManagersError {
            throw fail(error.message)
        }
    }

    /// The path by which the user starts this program, if PATH has it, as that stays over updates; its own otherwise.
    private static var program: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "hydrant"
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/hydrant" }
        let first = paths.first { $0.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: $0) }
        guard let first, URL(filePath: first).resolvingSymlinksInPath().path == own else { return own }
        return first
    }

    static func failIfChanged(_ reports: [FileManagers.Report], _ what: String) throws {
        let changed = reports.filter { $0.state == .changed }
        for report in changed { warn("\(report.path): \(what)") }
        if !changed.isEmpty { throw ExitCode(CommandExit.failed) }
    }
}

/// The output options of the subcommands.
struct DesktopOutput: ParsableArguments {
    @Flag(
        help: """
            Print an object: files (path, state: installed, missing, outdated, changed, written, removed), and \
            fileManagers (name, installed, missingPackage).
            """)
    var json = false

    private struct Everything: Encodable {
        var files: [FileManagers.Report]
        var fileManagers: [FileManagerProgram]
    }

    func write(_ reports: [FileManagers.Report]) throws {
        if json {
            return try StandardOutput.write(
                Output.json(Everything(files: reports, fileManagers: FileManagerProgram.all())))
        }
        try StandardOutput.write(
            reports.map { $0.state.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0) + $0.path })
    }

    /// Says what file managers lack.
    func warnOfPackages() {
        for program in FileManagerProgram.all() {
            guard let package = program.missingPackage else { continue }
            warn("\(program.name): cannot load the extension without \(package): apt install \(package)")
        }
    }
}
