import ArgumentParser
import ControlAPI

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep documents here, whole, whatever the cache limit says.",
        discussion: """
            Of a folder: all that is in it, and all that comes into it later. Returns when that is recorded, and says \
            how much is still to come; it comes in the background, new versions as well, and goes on after the next \
            mount.

            Example: hydrant pin --wait ~/Documents/manuals
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @Flag(help: "Return when everything is here; shows how far it is.")
    var wait = false

    @OptionGroup var output: TransferOutput

    func run() async throws {
        let waits = wait
        try await transfer(paths, output, reports: waits, { .pin(paths: $0, waits: waits) }) { outcome in
            outcome.note
                ?? (outcome.bytes > 0
                    ? "pinned, \(Output.bytes(outcome.bytes)) still to come" : "pinned, all of it is here")
        }
    }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Keep documents here no longer than the cache limit allows.",
        discussion: """
            What is here stays until it is evicted. What is pinned by itself in a folder stays pinned.

            Example: hydrant unpin ~/Documents/manuals
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @OptionGroup var output: TransferOutput

    func run() async throws { try await transfer(paths, output, { .unpin(paths: $0) }) { $0.note ?? "unpinned" } }
}
