import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

struct TrashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trash", abstract: "List what is in the store's trash, or put an item back.",
        discussion: """
            Lists deleted items, the last deleted first, at most 10,000: when, where they were, and the ID in the trash, \
            whoever deleted them. The items of a deleted folder come back with the folder. An item goes back to its place; if \
            the folder is gone, or the name is taken, the store chooses another, and the command prints it. Needs a \
            store whose trash can be looked into, such as Nextcloud.

            Examples:
              hydrant trash
              hydrant trash ~/Cloud --json | jq -r '.[] | select(.name == "report.odt") | .id'
              hydrant trash --restore ~/Cloud/report.odt
              hydrant trash ~/Cloud --restore report.odt.d1795862345
            """)

    @Argument(help: "The mount point; optional when there is only one.", completion: .mountPoints)
    var mountpoint: String?

    @Option(
        help: ArgumentHelp(
            "Put back this item: its ID, or the path where it was.", valueName: "id or path"), completion: .file())
    var restore: String?

    @Flag(
        help: """
            Print an array of objects: id, name, path, kind, size, deleted (seconds since 1970, or null); with \
            --restore an object: id, from, path (or null).
            """)
    var json = false

    func run() async throws {
        if let restore { return try await putBack(restore) }
        let mountPoint = try MountedPath.mountPoint(mountpoint)
        guard case .trashed(let items, let more) = try await ask(mountPoint, .trash) else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        if let more {
            warn(
                "\(mountPoint): \(more) items that were deleted before these are not listed; --restore with the ID or the path "
                    + "puts one back")
        }
        if json { return try StandardOutput.write(Output.json(items)) }
        try StandardOutput.write(items.map(line))
    }

    private func putBack(_ item: String) async throws {
        // An ID has no slash, and is no path in a mount unless somebody stands in the mount.
        let path = MountedPath.isMounted(item) ? try MountedPath(item) : nil
        let mountPoint =
            try mountpoint.map { try MountedPath.mountPoint($0) } ?? path?.mountPoint
            ?? MountedPath.mountPoint(nil)
        let request = ControlRequest.restoreTrashed(
            id: item, path: path?.mountPoint == mountPoint ? path?.relative : nil)
        guard case .restored(let restored) = try await ask(mountPoint, request) else {
            throw fail("\(item): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(restored)) }
        if let path = restored.path {
            print(path == restored.from ? path : "\(path)  (it was \(restored.from))")
        } else {
            print(
                "\(restored.from): is in the store again; the store does not say where, or it is outside of the mounted folder"
            )
        }
    }

    private func line(_ item: TrashedStatus) -> String {
        let moment = item.deleted.map { seconds in
            Date(timeIntervalSince1970: seconds).formatted(
                Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateTimeSeparator(.space)
                    .time(includingFractionalSeconds: false))
        }
        let size = item.kind == .document ? Output.bytes(item.size) : item.kind.rawValue
        let column = size.padding(toLength: 12, withPad: " ", startingAt: 0)
        return "\(moment ?? "unknown time")  \(column)\(item.path)  \(item.id)"
    }
}
