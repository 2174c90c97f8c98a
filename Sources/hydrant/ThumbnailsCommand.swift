import ArgumentParser
import ControlAPI

struct ThumbnailsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnails", abstract: "Say whether file managers find pictures of documents that are not here.",
        discussion: """
            On unless you say otherwise, here or in config.toml. Pictures of the documents in folders that somebody looks at are put \
            into your cache of thumbnails ($XDG_CACHE_HOME/thumbnails, freedesktop.org): those that programs gave, those of the \
            store, and those that your desktop's thumbnailers make of documents that are here. No document is downloaded for it. off \
            takes them out again.

            Examples:
              hydrant thumbnails
              hydrant thumbnails off ~/Documents
            """)

    @OptionGroup
    var mount: MountSetting

    @Flag(help: "Print an object: on, documents (with a picture in the cache), folder (the cache, or null).")
    var json = false

    func run() async throws {
        let mountPoint = try mount.point
        guard case .thumbnails(let status) = try await ask(mountPoint, .thumbnails(isOn: mount.isOn), timeout: 60)
        else {
            throw fail("\(mountPoint): the daemon gave another answer; is it of another version?")
        }
        if json { return print(Output.json(status)) }
        guard let folder = status.folder else {
            return print("\(mountPoint): off, there is no cache of thumbnails, or it lies in the mount")
        }
        let documents = status.documents == 1 ? "1 document" : "\(status.documents) documents"
        print("\(mountPoint): \(status.isOn ? "on, \(documents) in \(folder)" : "off")")
    }
}
