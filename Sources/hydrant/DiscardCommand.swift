import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Discard local changes that are not in the store.",
        discussion: """
            The mount shows the store's state again: a changed document gets the store's contents, a moved one its \
            place in the store; what was deleted here comes back; what was made here, and the store never had, is \
            deleted. The command lists what is lost, and asks; without a terminal it needs --yes. To keep the bytes, \
            copy them out first: hydrant save.

            A document that a program is writing is refused.

            Examples:
              hydrant save ~/Documents/report.odt ~/report-mine.odt
              hydrant discard ~/Documents/report.odt
              hydrant discard --yes --json ~/Documents/deleted-by-mistake.txt

            Exit status: 0 discarded; 1 not discarded, and nothing was changed; 64 no terminal to ask on, and no --yes.
            """)

    @Argument(help: "Documents or folders in a mount, deleted ones included.", completion: .file())
    var paths: [String]

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Flag(help: "Only list the changes that would be lost.")
    var dryRun = false

    @Flag(help: "Print an array of objects: path, changes, bytes (that are lost, or would be).")
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
            throw fail("\(group.mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        return changes
    }

    private func confirm(_ changes: [DiscardedChange]) throws {
        guard !json, isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw fail("no terminal to ask on; look with --dry-run, then use --yes", CommandExit.usage)
        }
        let bytes = changes.map(\.bytes).boundedSum
        print(
            bytes > 0 ? "\(Output.bytes(bytes)) will be lost. Discard? [y/N] " : "Discard? [y/N] ", terminator: "")
        fflush(nil)
        let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
        guard answer == "y" || answer == "yes" else { throw fail("nothing was discarded") }
    }

    private static func line(_ change: DiscardedChange) -> String {
        let effects = change.changes.map { kind in
            switch kind {
            case "creation": "is deleted: the store never had it"
            case "contents": "gets the store's contents again"
            case "move": "moves back to its place in the store"
            case "metadata": "gets the store's mode, dates and attributes again"
            case "deletion": "comes back"
            default: kind
            }
        }
        return "\(change.path): \(effects.joined(separator: "; "))"
            + (change.bytes > 0 ? " (\(Output.bytes(change.bytes)) here are lost)" : "")
    }
}
