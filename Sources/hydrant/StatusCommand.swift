import ArgumentParser
import ControlAPI

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show which documents are here, pending changes, transfers and errors.",
        discussion: """
            Examples:
              hydrant status --watch
              hydrant status ~/Documents    (for a mount point, the state of that mount)
              hydrant status --json ~/Documents/report.odt
            """)

    @Argument(help: "Documents or folders in a mount; default: all mounts.", completion: .file())
    var paths: [String] = []

    @Flag(
        help:
            "Print an array of objects: path, identifier, kind, state, modified, pinned, excluded, size, bytesDownloaded, version, error. Without paths: of items that are pending or failed."
    )
    var json = false

    @Flag(
        help:
            "With --json and without paths: print an array of the mounts, with their pending changes, transfers, settings and disk use."
    )
    var mounts = false

    @Flag(help: "Repeat every second, until interrupted; with --json, print an array a line.")
    var watch = false

    func validate() throws {
        if mounts && (!json || !paths.isEmpty) { throw ValidationError("--mounts needs --json, and excludes paths") }
    }

    func run() async throws {
        guard watch else {
            let (text, failures) = try await readStatus()
            try write(text)
            if failures > 0 { throw ExitCode(CommandExit.unavailable) }
            return
        }
        let isRedrawn = !json && StandardOutput.isTerminal
        while true {
            let (text, _) = try await readStatus()
            if isRedrawn, case .lines(let lines) = text {
                try StandardOutput.redraw(lines)
            } else {
                try write(text)
                if !json { try StandardOutput.write([""]) }
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private enum Text {
        case lines([String])
        case json(JSONText)
    }

    private func write(_ text: Text) throws {
        switch text {
        case .lines(let lines): try StandardOutput.write(lines)
        case .json(let json): try StandardOutput.write(json)
        }
    }

    private func readStatus() async throws -> (text: Text, failures: Int) {
        if paths.isEmpty { return await overview() }
        return (try await json ? .json(Output.json(items(), oneLine: watch)) : .lines(named()), 0)
    }

    private func items() async throws -> [ItemStatus] {
        var all: [ItemStatus] = []
        for group in try MountedPath.grouped(paths) { all += try await items(group.paths, in: group.mountPoint) }
        return all
    }

    private func items(_ paths: [PathBytes], in mountPoint: String) async throws -> [ItemStatus] {
        guard case .items(let items) = try await ask(mountPoint, .status(paths: paths)) else { return [] }
        return items
    }

    /// The lines for the named paths; for a mount point, the state of the mount.
    private func named() async throws -> [String] {
        var lines: [String] = []
        for group in try MountedPath.grouped(paths) {
            var hint: String?
            if case .domain(let domain, _) = try await ask(group.mountPoint, .status(paths: []), timeout: 30) {
                if group.paths.contains(where: \.bytes.isEmpty) {
                    lines += Self.lines(of: domain)
                } else {
                    hint = SignInHint.line(domain).map { "\(domain.mountPoint): \($0)" }
                }
            }
            let paths = group.paths.filter { !$0.bytes.isEmpty }
            do {
                if !paths.isEmpty { lines += try await items(paths, in: group.mountPoint).flatMap(Output.lines) }
            } catch {
                if let hint { warn(hint) }
                throw error
            }
            if let hint { lines.append(hint) }
        }
        return lines
    }

    private func overview() async -> (Text, Int) {
        var lines: [String] = []
        var domains: [DomainStatus] = []
        var unsettled: [ItemStatus] = []
        var failures = 0
        let mounts = MountTable.ownDomains()
        if mounts.isEmpty { lines.append("nothing is mounted") }
        for mount in mounts {
            guard let answer = try? await ask(mount.mountPoint, .status(paths: []), timeout: 30),
                case .domain(let domain, let items) = answer
            else {
                // The error is on standard error already; show the other mounts.
                failures += 1
                continue
            }
            domains.append(domain)
            unsettled += items
            lines += Self.lines(of: domain)
        }
        guard json else { return (.lines(lines), failures) }
        let text = self.mounts ? Output.json(domains, oneLine: watch) : Output.json(unsettled, oneLine: watch)
        return (.json(text), failures)
    }

    private static func lines(of domain: DomainStatus) -> [String] {
        let passthrough = domain.passthrough ? "yes" : "no"
        let ring = domain.transport.map { ", io_uring \($0.name == .ring ? "yes" : "no")" } ?? ""
        var lines = [
            "\(domain.mountPoint)  \(domain.provider)  (pid \(domain.pid), passthrough \(passthrough)\(ring))"
        ]
        if let connection = domain.connection, let line = Output.line(connection, domain.domain) {
            lines.append("  " + line)
        }
        if let hint = SignInHint.line(domain) { lines.append("  " + hint) }
        if domain.settings?.isPaused == true {
            lines.append("  paused: uploads and pinned documents wait for hydrant resume")
        }
        if let limits = domain.settings.flatMap(Output.limits) { lines.append("  " + limits) }
        lines.append("  " + Output.line(domain.disk))
        if let ahead = domain.readAhead, ahead.downloaded > 0 { lines.append("  " + Output.line(ahead)) }
        if let store = domain.store { lines.append("  " + Output.line(store)) }
        let transfers = domain.transfers ?? []
        for transfer in transfers.prefix(20) { lines.append("  " + Output.line(transfer)) }
        if transfers.count > 20 { lines.append("  and \(transfers.count - 20) more transfers") }
        lines.append(
            domain.pending.isEmpty
                ? "  everything is in the store" : "  \(Output.changes(domain.pending.count)) pending:")
        for change in domain.pending.prefix(50) { lines += Output.lines(change).map { "    " + $0 } }
        if let held = domain.heldDeletions { lines += Output.lines(held, domain.mountPoint) }
        if let conflicts = domain.conflicts, conflicts > 0 {
            let count = conflicts == 1 ? "1 conflict is" : "\(conflicts) conflicts are"
            lines.append("  \(count) unresolved; hydrant conflicts \(domain.mountPoint) lists them")
        }
        return lines
    }
}
