import ArgumentParser
import Daemon

/// The command `hydrant`.
@main
struct Hydrant: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hydrant",
        abstract: "Mount a remote store of documents as an ordinary directory: files on demand.",
        discussion: """
            Every document shows at once with its real name, size and date. Hydrant downloads its bytes at the first \
            read, and uploads what you write when you close it.

            \(CommandExit.help)
            """,
        version: "hydrant \(Release.version) (daemon protocol \(DaemonConfiguration.currentVersion))",
        subcommands: [
            MountCommand.self, UnmountCommand.self, DomainCommand.self, LoginCommand.self, LogoutCommand.self,
            ConfigCommand.self,
            StatusCommand.self, EvictCommand.self, DownloadCommand.self,
            PinCommand.self, UnpinCommand.self, SyncCommand.self, RetryCommand.self, DiscardCommand.self,
            ShareCommand.self, TrashCommand.self, VersionsCommand.self,
            SaveCommand.self, ConflictsCommand.self, ResolveCommand.self, PauseCommand.self, ResumeCommand.self,
            LimitCommand.self, EventsCommand.self, NotifyCommand.self, FindCommand.self,
            IndexCommand.self, PolicyCommand.self, CoordinateCommand.self,
            PresentCommand.self,
            ClaimsCommand.self,
            BookmarkCommand.self, AccessCommand.self, GrantsCommand.self,
            PickCommand.self, PickersCommand.self, ContainersCommand.self,
            OpenCommand.self, PreviewCommand.self, PrintCommand.self, TypesCommand.self, WebCommand.self,
            ProviderCommand.self, RescueCommand.self, DoctorCommand.self, ThumbnailCommand.self, ThumbnailsCommand.self,
            DesktopCommand.self, ServeCommand.self,
        ])
}
