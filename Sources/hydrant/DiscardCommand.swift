import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Give up local changes that are not in the store.",
        discussion: """
            What the store has is shown again: of a changed document its contents there, of a moved one its place there; \
            what was deleted here comes back; what was made here, and the store never had, goes. Says first what goes, \
            and asks; where nobody can be asked it needs --yes. hydrant save copies the bytes out before.

            Refused for what a program is writing.

            Examples:
              hydrant save ~/Documents/report.odt ~/report-mine.odt
              hydrant discard ~/Documents/report.odt
              hydrant discard --yes --json ~/Documents/deleted-by-mistake.txt

            Exit status: 0 discarded; 1 not, and nothing was changed; 64 nobody was asked, and --yes is missing.
            """)

    @Argument(help: "Documents or folders in a mount, also those that were deleted there.", completion: .file())
    var paths: [String]

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Flag(help: "Only say what would go.")
    var dryRun = false

    @Flag(help: "Print an array of what goes (would go): path, changes, bytes.")
    var json = false

    func run() async throws {
        let groups = try MountedPath.grouped(paths)
        var plans: [[DiscardedChange]] = []
        for group in groups { plans.append(try await send(group, agreed: nil)) }
        if !json { for change in plans.joined() { print(Self.line(change)) } }
        if dryRun {
            if json { print(Output.json(plans.flatMap { $0 })) }
            return
        }
        if !yes { try confirm(plans.flatMap { $0 }) }
        for (group, plan) in zip(groups, plans) { _ = try await send(group, agreed: plan) }
        if json { return print(Output.json(plans.flatMap { $0 })) }
        print("discarded")
    }

    private func send(_ group: (mountPoint: String, paths: [PathBytes]), agreed: [DiscardedChange]?) async throws
        -> [DiscardedChange]
    {
        let answer = try await ask(group.mountPoint, .discard(paths: group.paths, agreed: agreed))
        guard case .discards(let changes) = answer else {
            throw fail("\(group.mountPoint): its daemon is another version")
        }
        return changes
    }

    private func confirm(_ changes: [DiscardedChange]) throws {
        guard !json, isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw fail("nobody can be asked here; look with --dry-run, then say --yes", CommandExit.usage)
        }
        let bytes = changes.map(\.bytes).boundedSum
        print(
            bytes > 0 ? "\(Output.bytes(bytes)) are lost by this. Discard? [y/N] " : "Discard? [y/N] ", terminator: "")
        fflush(nil)
        let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
        guard answer == "y" || answer == "yes" else { throw fail("nothing was discarded") }
    }

    private static func line(_ change: DiscardedChange) -> String {
        let effects = change.changes.map { kind in
            switch kind {
            case "creation": "goes: the store never had it"
            case "contents": "its contents go, the store's are shown again"
            case "move": "goes back to where the store has it"
            case "metadata": "its mode, dates and attributes are the store's again"
            case "deletion": "comes back"
            default: kind
            }
        }
        return "\(change.path): \(effects.joined(separator: "; "))"
            + (change.bytes > 0 ? " (\(Output.bytes(change.bytes)) here go)" : "")
    }
}
