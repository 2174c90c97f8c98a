import ArgumentParser
import ControlAPI
import Foundation

struct ClaimsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims", abstract: "Show who holds items by coordination, and who waits for them.",
        discussion: """
            Examples:
              hydrant claims
              hydrant claims --json ~/Documents | jq -r '.[] | select(.granted | not) | .program'
            """)

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
    var mountpoint: String?

    @Flag(
        help: "Print an array of objects: id, purpose, pid, program, granted, reading, writing, waitsFor, within."
    )
    var json = false

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        guard case .claims(let claims) = try await ask(mountPoint, .claims, timeout: 10) else {
            throw fail("\(mountPoint): the daemon says something else")
        }
        if json { return print(Output.json(claims)) }
        for claim in claims {
            print("\(claim.isGranted ? "holds" : "waits")  \(claim.program) (pid \(claim.pid))")
            for path in claim.reading { print("         to read   \(path)") }
            for path in claim.writing { print("         to write  \(path)") }
        }
    }
}
