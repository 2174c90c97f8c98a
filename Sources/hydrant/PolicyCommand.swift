import ArgumentParser
import ControlAPI
import Foundation

struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Set which programs may download documents by opening them.",
        discussion: """
            Programs that make thumbnails or indexes open every document they see. By default such programs can open \
            documents that are here, and get EAGAIN for others; hydrant events names the programs that were refused. \
            All other programs download what they open. A rule holds for programs with a name, or a pattern, and for \
            every program that they start. Of several rules that match, a later one given here takes precedence over \
            an earlier one, these over config.toml, and that over the built-in rules.

            With -- COMMAND, no rule changes; Hydrant only allows or denies COMMAND, and every program that it starts: \
            for a backup program that should leave out documents that are not here. (COMMAND has \
            HYDRANT_DOWNLOADS=deny in its environment.)

            Examples:
              hydrant policy
              hydrant policy --deny imagemagick-index --ask 'shotwell*' ~/Documents
              hydrant policy --forget tumblerd --allow tumblerd
              hydrant policy --deny-command -- restic backup ~/Documents
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Option(
        help: ArgumentHelp("A program that may download; may be repeated, as may the next three.", valueName: "program")
    )
    var allow: [String] = []

    @Option(help: ArgumentHelp("A program that may not download.", valueName: "program"))
    var deny: [String] = []

    @Option(
        help: ArgumentHelp(
            "A program that may not download until you agree: a notification asks you.", valueName: "program"))
    var ask: [String] = []

    @Option(help: ArgumentHelp("A program whose rule here is removed.", valueName: "program"))
    var forget: [String] = []

    @Flag(help: "Run the command behind -- without the right to download.")
    var denyCommand = false

    @Flag(help: "Run the command behind -- with the right to download, regardless of its name.")
    var allowCommand = false

    @Flag(help: "Print an array of objects, in order of precedence: program, decision, origin.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The command to run, with --deny-command or --allow-command.")
    var command: [String] = []

    func validate() throws {
        let isCommand = denyCommand || allowCommand
        if denyCommand && allowCommand {
            throw ValidationError("--deny-command and --allow-command exclude each other")
        }
        if isCommand != !command.isEmpty {
            throw ValidationError(
                "--deny-command or --allow-command needs a command behind --, and a command needs one of them")
        }
        if isCommand && !(allow + deny + ask + forget).isEmpty || isCommand && json {
            throw ValidationError("running a command and changing rules exclude each other")
        }
    }

    func run() async throws {
        if !command.isEmpty {
            let decision = denyCommand ? DownloadDecision.deny : .allow
            let status = try await ChildCommand(
                words: command, environment: ["HYDRANT_DOWNLOADS": decision.rawValue]
            ).run()
            throw ExitCode(status)
        }
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        let changes =
            forget.map { DownloadRuleChange(program: $0, decision: nil) }
            + allow.map { DownloadRuleChange(program: $0, decision: .allow) }
            + deny.map { DownloadRuleChange(program: $0, decision: .deny) }
            + ask.map { DownloadRuleChange(program: $0, decision: .ask) }
        guard case .policy(let rules) = try await hydrant.ask(mountPoint, .policy(changes), timeout: 30) else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(rules)) }
        for rule in rules where rule.origin != .builtIn { print(line(rule)) }
        let builtIn = rules.filter { $0.origin == .builtIn && $0.decision == .deny }.map(\.program)
        print("deny   built in: \(builtIn.joined(separator: ", "))")
    }

    private func line(_ rule: DownloadRule) -> String {
        let origin = rule.origin == .configuration ? "  (config.toml)" : ""
        return rule.decision.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0) + rule.program + origin
    }
}
