import ArgumentParser
import ControlAPI
import Foundation

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts", abstract: "List documents that were kept in two versions.",
        discussion: """
            A conflict ends when you resolve it, or when either version is removed.

            Examples:
              hydrant conflicts
              hydrant conflicts --json ~/Documents
            """)

    @Argument(help: "The mount point; default: all mounts.", completion: .mountPoints)
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
                // The error is on standard error already; list the other mounts.
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
    /// Without the fields that only programs use that talk to the daemon.
    fileprivate var forScripts: ConflictStatus {
        var status = self
        (status.originalPlace, status.copyPlace) = (nil, nil)
        return status
    }
}

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "End a conflict by keeping one version or both; or decide on held deletions.",
        discussion: """
            Of a conflict: mine makes the conflicted copy's bytes the original's contents, and removes the copy, from \
            the store once the bytes are there. theirs removes the copy, here and in the store. both keeps both \
            documents and ends the conflict.

            Of held deletions (hydrant status), in a folder or a whole mount: mine puts the items whose bytes are all \
            here back into the store. theirs carries the deletion out.

            Examples:
              hydrant resolve --keep theirs ~/Documents
              hydrant resolve ~/Documents/report.odt --keep mine
              hydrant resolve "$HOME/Documents/report (conflicted copy, ada, 2026-03-01).odt" --keep both

            Exit status: 0 resolved; 1 not resolved, and nothing was changed.
            """)

    @Argument(
        help: "The original or the conflicted copy; for held deletions, a document, a folder or the mount point.",
        completion: .file())
    var path: String

    @Option(help: "The version to keep: mine, theirs or both.")
    var keep: Kept

    @Flag(
        help:
            "Print an array of objects: original, copy, moment, reason, explanation; for held deletions, an object: items, incomplete."
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
        guard case .conflicts(let resolved) = answer else {
            throw fail("\(path): unexpected answer from the daemon; unmount and mount again")
        }
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
            print("\(path): \(Output.items(resolved.items)) deleted here as well")
        } else if resolved.items > 0 {
            print("\(path): \(Output.items(resolved.items)) on the way back to the store")
        }
        guard resolved.incomplete > 0 else { return }
        throw fail(
            "\(path): \(Output.items(resolved.incomplete)) cannot be put back, because not all of their bytes are here; "
                + "they stay held until --keep theirs deletes them")
    }
}
