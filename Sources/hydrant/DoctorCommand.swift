import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Logging
import Stores
import Surroundings

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check whether catalog, local content and store agree.",
        discussion: """
            Prints a line for each problem: place, problem, meaning, and the repair that --repair makes. The check \
            changes nothing, and works while the domain is mounted; --repair needs it unmounted. A repair deletes \
            only bytes that exist elsewhere: files that the catalog does not know go to content/lost+found in the \
            state directory.

            Examples:
              hydrant doctor ~/Documents
              hydrant doctor --repair ~/.local/share/hydrant/domains/dir-documents-1f2e3d

            Exit status: 0 no problems; 1 problems, also if --repair fixed them; 64 wrong usage.
            """)

    @Argument(help: "A state directory, or a mount point.", completion: .directory)
    var place: String

    @Flag(help: "Make the repairs that are safe.")
    var repair = false

    @Flag(help: "Ask the store about every document as well.")
    var store = false

    @Flag(
        help: """
            Print an object: stateDirectory, mounted, and problems, an array of objects with place, what, meaning, \
            remedy and loss; for a mount point also transport, with name (io_uring or device) and reason.
            """)
    var json = false

    private struct Findings: Encodable {
        struct Problem: Encodable {
            var place: String
            var what: String
            var meaning: String
            var remedy: String
            var loss: Bool
        }
        var stateDirectory: String
        var mounted: Bool
        var problems: [Problem]
        var transport: RequestTransport?
    }

    func run() async throws {
        let (state, transport) = try await stateDirectory()
        var logger = Logger(label: "hydrant") { StreamLogHandler(label: $0, stream: LogStream()) }
        logger.logLevel = .error
        let report: Doctor.Report
        do {
            let doctor = try Doctor(stateDirectory: state, registry: builtInStores, repairs: repair)
            report =
                repair
                ? try await doctor.repair(asksStore: store, logger: logger)
                : try await doctor.examine(asksStore: store, logger: logger)
        } catch {
            throw fail("\(error)")
        }
        if json {
            let problems = report.problems.map {
                Findings.Problem(
                    place: $0.place, what: $0.what, meaning: $0.meaning, remedy: $0.remedy, loss: $0.isLoss)
            }
            print(
                Output.json(
                    Findings(
                        stateDirectory: state, mounted: report.wasInUse, problems: problems, transport: transport)))
            if problems.isEmpty { return }
            throw ExitCode(CommandExit.failed)
        }
        for problem in report.problems {
            let loss = problem.isLoss ? "DATA LOSS: " : ""
            print("\(loss)\(problem.place): \(problem.what); \(problem.meaning); \(problem.remedy)")
        }
        if let transport {
            let reason = transport.reason.map { ": " + $0 } ?? ""
            let way = transport.name == .ring ? "io_uring" : "/dev/fuse, not over io_uring, which is faster"
            print("\(ShownText.line(place)): requests come over \(way)\(reason)")
        }
        let meanwhile = report.wasInUse ? " (checked while mounted)" : ""
        guard !report.problems.isEmpty else { return print("\(state): nothing is wrong\(meanwhile)") }
        let count = report.problems.count
        print("\(state): \(count == 1 ? "1 problem" : "\(count) problems")\(meanwhile)")
        throw ExitCode(CommandExit.failed)
    }

    /// For a mount point, asks its daemon.
    private func stateDirectory() async throws -> (path: String, transport: RequestTransport?) {
        let absolute = place.hasPrefix("/") ? place : FileManager.default.currentDirectoryPath + "/" + place
        let plain = absolute.count > 1 && absolute.hasSuffix("/") ? String(absolute.dropLast()) : absolute
        guard MountedPath.isMounted(place) else { return (plain, nil) }
        let mountPoint = try MountedPath.mountPoint(place)
        if repair { throw fail("\(mountPoint): mounted; unmount it first, then name its state directory") }
        guard case .domain(let domain, _) = try await ask(mountPoint, .status(paths: []), timeout: 30),
            let state = domain.stateDirectory
        else {
            throw fail("\(mountPoint): its daemon does not name its state directory; name the state directory instead")
        }
        return (state, domain.transport)
    }
}
