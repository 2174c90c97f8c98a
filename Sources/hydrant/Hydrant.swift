import ArgumentParser

/// The command `hydrant`.
@main
struct Hydrant: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hydrant",
        abstract: "Files on demand: a remote store of documents, mounted as an ordinary directory.",
        discussion: """
            Every document shows at once with its real name, size and date; its bytes come on the first read; \
            what you write is uploaded when you close it.

            Exit status: 0 done; 1 an operation failed, with a line that says why; 64 wrong usage; 69 no daemon \
            answers; 75 not done yet, try again (sync with pending changes).
            """,
        subcommands: [
            MountCommand.self, UnmountCommand.self, StatusCommand.self, EvictCommand.self, DownloadCommand.self,
            SyncCommand.self,
        ])
}
