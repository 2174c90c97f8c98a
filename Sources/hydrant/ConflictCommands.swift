import ArgumentParser
import ControlAPI
import Foundation

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts", abstract: "List of what both versions were kept, and why.",
        discussion: """
            A conflict is over when it is resolved, or when either of the two is removed.

            Examples:
              hydrant conflicts
              hydrant conflicts --json ~/Documents
            """)

    @Argument(help: "Where it is mounted; without: every mount.", completion: .mountPoints)
    var mountpoint: String?

    @Flag(help: "Print an array of objects: original, copy, moment (seconds since 1970), reason, explanation.")
    var json = false

    func run() async throws {
        let mountPoints =
            try mountpoint.map { [try MountedPath.mountPoint($0)] }
            ?? MountTable.ownDomains().map(\.mountPoint)
        if mountPoints.isEmpty { throw fail("nothing is mounted", CommandExit.unavailable) }
        var all: [ConflictStatus] = []
        var failure: ExitCode?
        for mountPoint in mountPoints {
            do {
                if case .conflicts(let found) = try await ask(mountPoint, .conflicts, timeout: 30) { all += found }
            } catch {
                // Its line is on standard error; the other mounts are listed all the same.
                failure = error
            }
        }
        say(all)
        if let failure { throw failure }
    }

    private func say(_ all: [ConflictStatus]) {
        if json { return print(Output.json(all.map(\.forScripts))) }
        if all.isEmpty { return print("no conflicts") }
        for conflict in all { print(Self.lines(conflict)) }
        print("hydrant resolve PATH --keep mine|theirs|both ends a conflict")
    }

    private static func lines(_ conflict: ConflictStatus) -> [String] {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm"
        let moment = formatter.string(from: Date(timeIntervalSince1970: conflict.moment))
        return [conflict.original, "  mine: \(conflict.copy)", "  \(moment): \(conflict.explanation)"]
    }
}

extension ConflictStatus {
    /// Without what is for programs that speak to the daemon.
    fileprivate var forScripts: ConflictStatus {
        var status = self
        (status.originalPlace, status.copyPlace) = (nil, nil)
        return status
    }
}

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "End a conflict: keep one version, or both; or decide on held deletions.",
        discussion: """
            mine: the conflicted copy's bytes become the original's next contents, and the copy goes, from the store when \
            they are there. theirs: the copy is removed, here and in the store. both: nothing changes, it is only \
            no conflict any more.

            Of what the store deleted and is held here (hydrant status), in a folder or a whole mount: mine: what is \
            whole here is put back into the store. theirs: the deletion is carried out.

            Examples:
              hydrant resolve --keep theirs ~/Documents
              hydrant resolve ~/Documents/report.odt --keep mine
              hydrant resolve "$HOME/Documents/report (conflicted copy, ada, 2026-03-01).odt" --keep both

            Exit status: 0 resolved; 1 not, and nothing was changed.
            """)

    @Argument(
        help: "The original, or the conflicted copy; of held deletions a document, a folder or the mount point.",
        completion: .file())
    var path: String

    @Option(help: "Which version stays: mine, theirs or both.")
    var keep: Kept

    @Flag(
        help:
            "Print an array of what was resolved: original, copy, moment, reason, explanation. Of held deletions an object: items, incomplete."
    )
    var json = false

    enum Kept: String, ExpressibleByArgument, CaseIterable {
        case mine, theirs, both

        fileprivate var version: KeptVersion {
            switch self {
            case .mine: .mine
            case .theirs: .theirs
            case .both: .both
            }
        }
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        let answer = try await ask(mounted.mountPoint, .resolve(path: mounted.relative, keep: keep.version))
        if case .deletions(let resolved) = answer { return try say(resolved) }
        guard case .conflicts(let resolved) = answer else { throw fail("\(path): its daemon is another version") }
        if json { return print(Output.json(resolved.map(\.forScripts))) }
        for conflict in resolved {
            switch keep {
            case .mine: print("\(conflict.original): has the contents of \(conflict.copy), which is gone")
            case .theirs: print("\(conflict.copy): removed; \(conflict.original) stays as it is")
            case .both: print("\(conflict.original), \(conflict.copy): both stay")
            }
        }
    }

    private func say(_ resolved: ResolvedDeletions) throws {
        if json {
            print(Output.json(resolved))
        } else if keep == .theirs {
            print("\(path): \(Output.items(resolved.items)) that the store had deleted: gone here as well")
        } else if resolved.items > 0 {
            print("\(path): \(Output.items(resolved.items)) on the way back to the store")
        }
        guard resolved.incomplete > 0 else { return }
        throw fail(
            "\(path): \(Output.items(resolved.incomplete)) cannot be put back, since not all of their bytes are here; "
                + "they are still held, --keep theirs lets them go")
    }
}
