import ArgumentParser
import ControlAPI
import Foundation

struct ClaimsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims", abstract: "List programs that hold items by coordination, or wait for them.",
        discussion: """
            Examples:
              hydrant claims
              hydrant claims --json ~/Documents | jq -r '.[] | select(.granted | not) | .program'
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Flag(
        help: "Print an array of objects: id, purpose, pid, program, granted, reading, writing, waitsFor, within."
    )
    var json = false

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        guard case .claims(let claims) = try await ask(mountPoint, .claims, timeout: 10) else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(claims)) }
        for claim in claims {
            print("\(claim.isGranted ? "holds" : "waits")  \(claim.program) (pid \(claim.pid))")
            for path in claim.reading { print("         to read   \(path)") }
            for path in claim.writing { print("         to write  \(path)") }
        }
    }
}
