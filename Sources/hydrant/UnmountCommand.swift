import ArgumentParser
import ControlAPI
import Foundation

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmount a store; return when the daemon has ended.",
        discussion: """
            Lists changes that are still pending; Hydrant keeps them, and sends them after the next mount. While \
            programs have files open, the command refuses and names the programs that you may see; it waits up to 10 \
            seconds for programs that are just ending.

            --force unmounts in spite of open files: programs can use them for a moment, then get ENOTCONN. A daemon \
            that does not end in time gets SIGTERM, then SIGKILL; this loses nothing that was closed.

            Examples:
              hydrant unmount ~/Documents
              hydrant unmount --force --timeout 2 ~/Documents

            Exit status: 0 unmounted; 32 programs use it; 69 nothing is mounted, or the daemon does not answer; 75 \
            unmounted, but the daemon has not ended yet.
            """)

    @Argument(help: "The mount point.", completion: .mountPoints)
    var mountpoint: String

    @Flag(help: "Unmount although programs have files open, or the daemon hangs.")
    var force = false

    @Option(
        help: "Seconds to wait for the daemon to end; then --force kills it, without --force the command returns 75.")
    var timeout: Seconds?

    @Flag(help: "Print an object: mountPoint, unmounted, pid, ended, pending, users, unseen.")
    var json = false

    private struct Report: Encodable {
        var mountPoint: String
        var unmounted = false
        var pid: Int32?
        /// How the daemon ended: `byItself`, `terminated`, `killed`, or `none` (not found); nil: it still runs.
        var ended: String?
        var pending: [PendingChange] = []
        var users: [MountUsers.Process] = []
        var unseen = 0
    }

    func run() async throws {
        // Root may unmount any user's mount.
        let mountPoint = try MountedPath.mountPoint(mountpoint, anybodys: geteuid() == 0)
        // A working directory in the mount would keep it in use.
        chdir("/")
        var report = Report(mountPoint: mountPoint)
        let serving = ServingProcess.serving(mountPoint)
        let connection = KernelConnection(mountPoint: mountPoint)
        // A daemon killed while programs wait for its answers cannot end before the connection is aborted.
        if serving?.isAlive == false { connection?.abort() }
        let daemon = serving.flatMap { $0.isAlive ? $0 : nil }
        report.pid = daemon?.pid
        let answer = try await pending(mountPoint, daemon)
        report.pending = answer ?? []
        // The kernel decides whether the mount is busy; we list the users afterwards. A dead mount is always unmounted.
        var outcome = Unmounter.attempt(mountPoint, lazily: force)
        if outcome == .busy, daemon == nil, isDead(mountPoint) { outcome = Unmounter.attempt(mountPoint, lazily: true) }
        var users = MountUsers()
        // Programs that were killed a moment ago may still be closing their files: wait for these.
        let patience = ContinuousClock.now + .seconds(10)
        while outcome == .busy {
            users = MountUsers.find(at: mountPoint)
            guard users.processes.allSatisfy(\.isEnding), ContinuousClock.now < patience else { break }
            try await Task.sleep(for: .milliseconds(50))
            outcome = Unmounter.attempt(mountPoint, lazily: false)
        }
        switch outcome {
        case .unmounted: report.unmounted = true
        case .failed(let why): throw fail(why)
        case .busy: throw busy(&report, users)
        }
        if let daemon { report.ended = await end(of: daemon, connection) } else { report.ended = "none" }
        say(report, isKnown: answer != nil || daemon == nil)
        if report.ended == nil {
            throw fail("unmounted, but the daemon (pid \(report.pid ?? 0)) has not ended yet", CommandExit.tryAgain)
        }
    }

    /// Nil: the daemon does not answer.
    private func pending(_ mountPoint: String, _ daemon: ServingProcess?) async throws -> [PendingChange]? {
        guard let daemon else { return [] }
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
            if case .domain(let domain, _) = try await client.send(.prepareUnmount, timeout: force ? 3 : 10) {
                return domain.pending
            }
        } catch  where error.code == .notRunning {
            return []
        } catch {}
        // The daemon was killed meanwhile; the kernel may keep its socket for a while.
        if !daemon.isAlive { return [] }
        if force { return nil }
        throw fail(
            "\(mountPoint): its daemon (pid \(daemon.pid)) does not answer; hydrant unmount --force \(mountPoint) ends it",
            CommandExit.unavailable)
    }

    /// The daemon has ended, and the kernel answers in its place.
    private func isDead(_ mountPoint: String) -> Bool {
        var statistics = statvfs()
        return statvfs(mountPoint, &statistics) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    private func busy(_ report: inout Report, _ users: MountUsers) -> ExitCode {
        report.users = users.processes
        report.unseen = users.unseen
        if json {
            print(Output.json(report))
            return ExitCode(CommandExit.inUse)
        }
        for line in users.lines { print("  " + line) }
        listPending(report.pending, "pending; kept, and sent as before")
        var message = "\(report.mountPoint): not unmounted, "
        switch users.processes.count {
        case 0: message += "programs use it that you may not see"
        case 1: message += "1 process uses it"
        default: message += "\(users.processes.count) processes use it"
        }
        if users.unseen > 0 { message += " (\(users.unseen) processes could not be inspected)" }
        return fail(message + "; end them, or unmount --force", CommandExit.inUse)
    }

    /// Waits until the process is gone: then the catalog is closed and the state directory free. Closed changes are in
    /// the catalog, so killing the daemon loses none of them.
    private func end(of daemon: ServingProcess, _ connection: KernelConnection?) async -> String? {
        if await daemon.hasEnded(within: timeout?.value ?? (force ? 5 : 30)) { return "byItself" }
        guard force else { return nil }
        daemon.signal(SIGTERM)
        // A stopped process handles SIGTERM only after SIGCONT.
        daemon.signal(SIGCONT)
        if await daemon.hasEnded(within: 10) { return "terminated" }
        daemon.signal(SIGKILL)
        connection?.abort()
        return await daemon.hasEnded(within: 10) ? "killed" : nil
    }

    private func say(_ report: Report, isKnown: Bool) {
        if json { return print(Output.json(report)) }
        if report.ended == "terminated" || report.ended == "killed" {
            print("the daemon (pid \(report.pid ?? 0)) did not end by itself and was \(report.ended ?? "")")
        }
        if !isKnown {
            print(
                "the daemon did not list the pending changes; they are kept, and sent after the next mount"
            )
        }
        listPending(report.pending, "pending; kept and sent after the next mount")
    }

    private func listPending(_ pending: [PendingChange], _ what: String) {
        guard !pending.isEmpty else { return }
        print("\(Output.changes(pending.count)) \(what):")
        for change in pending.prefix(20) { print(Output.lines(change).map { "  " + $0 }) }
        if pending.count > 20 { print("  … and \(pending.count - 20) more") }
    }
}
