import ArgumentParser
import ControlAPI
import Foundation

struct GrantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "Show which rights to items were given away, and take them back.",
        discussion: """
            Of what has been revoked nothing is left: whoever uses it gets errors at once.

            Examples:
              hydrant grants
              hydrant grants --json ~/Documents | jq -r '.[] | select(.users != []) | .path'
              hydrant grants --revoke 3F0C6B6E-6C3F-4B3E-8E62-2B7B6F3B4C55
              hydrant grants --revoke-all ~/Documents
            """)

    @Argument(help: "Where it is mounted; may be left out when there is one mount only.", completion: .mountPoints)
    var mountpoint: String?

    @Option(help: ArgumentHelp("Take this right back; may be repeated.", valueName: "id"))
    var revoke: [String] = []

    @Flag(help: "Take all rights back that this mount's domain has given.")
    var revokeAll = false

    @Flag(help: "Print an array of objects: id, path, program, writable, created, until, users.")
    var json = false

    func validate() throws {
        if revokeAll && !revoke.isEmpty { throw ValidationError("say --revoke or --revoke-all, not both") }
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
            throw fail("\(mountPoint): the daemon says something else")
        }
        return grants
    }
}
