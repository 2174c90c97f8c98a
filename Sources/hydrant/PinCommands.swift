import ArgumentParser
import ControlAPI

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep documents here, whole, regardless of the cache limit.",
        discussion: """
            Pinning a folder covers everything in it, now and later. The command returns at once, and prints how much \
            is still to come. Hydrant downloads in the background, new versions too, and continues after the next \
            mount.

            Example: hydrant pin --wait ~/Documents/manuals
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @Flag(help: "Return when everything is here; show the progress.")
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
        commandName: "unpin", abstract: "Let documents be evicted again.",
        discussion: """
            Nothing is evicted at once. Items in a folder that were pinned by themselves stay pinned.

            Example: hydrant unpin ~/Documents/manuals
            """)

    @Argument(help: "Documents or folders in a mount.", completion: .file())
    var paths: [String]

    @OptionGroup var output: TransferOutput

    func run() async throws { try await transfer(paths, output, { .unpin(paths: $0) }) { $0.note ?? "unpinned" } }
}
