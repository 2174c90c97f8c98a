import ArgumentParser
import ControlAPI
import Foundation

struct GrantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "List rights to items that were given to programs, or revoke them.",
        discussion: """
            Revoking works at once: a program that uses the right gets errors from then on.

            Examples:
              hydrant grants
              hydrant grants --json ~/Documents | jq -r '.[] | select(.users != []) | .path'
              hydrant grants --revoke 3F0C6B6E-6C3F-4B3E-8E62-2B7B6F3B4C55
              hydrant grants --revoke-all ~/Documents
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: ArgumentHelp("A right to revoke; may be repeated.", valueName: "id"))
    var revoke: [String] = []

    @Flag(help: "Revoke all rights that this mount's domain has given.")
    var revokeAll = false

    @Flag(help: "Print an array of objects: id, path, program, writable, created, until, users.")
    var json = false

    func validate() throws {
        if revokeAll && !revoke.isEmpty { throw ValidationError("--revoke and --revoke-all exclude each other") }
    }

    private static func date(_ seconds: Double) -> String { Date(timeIntervalSince1970: seconds).formatted(.iso8601) }

    func run() async throws {
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        var grants: [GrantStatus] = []
        if revoke.isEmpty { grants = try await self.grants(mountPoint, revokeAll ? .revokeAllGrants : .grants) }
        for id in revoke { grants += try await self.grants(mountPoint, .revokeGrant(id: id)) }
        if json { return print(Output.json(grants)) }
        for grant in grants {
            let revoked = revokeAll || !revoke.isEmpty ? "revoked  " : ""
            print("\(revoked)\(grant.id)  \(grant.isWritable ? "write" : "read ")  \(grant.path)")
            let end = grant.until.map { "until \(Self.date($0))" } ?? "until it is revoked"
            print("    given \(Self.date(grant.created)), good \(end)\(grant.program.map { ", for \($0)" } ?? "")")
            if !grant.users.isEmpty && revoked.isEmpty {
                print("    used by \(grant.users.map { "process \($0)" }.joined(separator: ", "))")
            }
        }
    }

    private func grants(_ mountPoint: String, _ request: ControlRequest) async throws -> [GrantStatus] {
        guard case .grants(let grants) = try await ask(mountPoint, request, timeout: 30) else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        return grants
    }
}
