import ArgumentParser
import ControlAPI
import Foundation

struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Say which programs may download documents by opening them.",
        discussion: """
            Programs that make thumbnails or indexes open every document they see. By default such programs cannot open what is \
            not on this machine (EAGAIN), and read what is; hydrant events names whom that befell. All others download what \
            they open. A rule is for a program's name, or a pattern, and for all that the program starts; of several that fit, a \
            later one given here goes before an earlier one, and all of them before config.toml and the built-in ones.

            With -- COMMAND nothing is changed, but this command, with all that it starts, is allowed or denied: for a backup \
            program that is to leave out what is not here. (It is told by HYDRANT_DOWNLOADS=deny in its environment.)

            Examples:
              hydrant policy
              hydrant policy --deny imagemagick-index --ask 'shotwell*' ~/Documents
              hydrant policy --forget tumblerd --allow tumblerd
              hydrant policy --deny-command -- restic backup ~/Documents
            """)

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: ArgumentHelp("It may; may be repeated, as the others.", valueName: "program"))
    var allow: [String] = []

    @Option(help: ArgumentHelp("It may not.", valueName: "program"))
    var deny: [String] = []

    @Option(help: ArgumentHelp("It may not before you say so: a notification asks you.", valueName: "program"))
    var ask: [String] = []

    @Option(help: ArgumentHelp("There is no rule here for it any more.", valueName: "program"))
    var forget: [String] = []

    @Flag(help: "Run the command behind -- and let it not download.")
    var denyCommand = false

    @Flag(help: "Run the command behind -- and let it download, whatever it is called.")
    var allowCommand = false

    @Flag(help: "Print a list of objects, the first that fits before others: program, decision, origin.")
    var json = false

    @Argument(parsing: .postTerminator, help: "With --deny-command or --allow-command.")
    var command: [String] = []

    func validate() throws {
        let isCommand = denyCommand || allowCommand
        if denyCommand && allowCommand { throw ValidationError("--deny-command and --allow-command: choose one") }
        if isCommand != !command.isEmpty {
            throw ValidationError("a command goes behind --, with --deny-command or --allow-command before it")
        }
        if isCommand && !(allow + deny + ask + forget).isEmpty || isCommand && json {
            throw ValidationError("a command is run, or rules are changed")
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
            throw fail("\(mountPoint): the daemon gave another answer; is it of another version?")
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
