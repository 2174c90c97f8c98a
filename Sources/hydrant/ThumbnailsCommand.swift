import ArgumentParser
import ControlAPI

struct ThumbnailsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnails", abstract: "Switch file managers' pictures of documents that are not here on or off.",
        discussion: """
            On by default; config.toml can set it too. Hydrant puts pictures of the documents in folders that somebody \
            looks at into your thumbnail cache ($XDG_CACHE_HOME/thumbnails, freedesktop.org): pictures that programs \
            gave, pictures of the store, and pictures that your desktop's thumbnailers make of documents that are \
            here. This downloads no document. off removes the pictures.

            Examples:
              hydrant thumbnails
              hydrant thumbnails off ~/Documents
            """)

    @OptionGroup
    var mount: MountSetting

    @Flag(help: "Print an object: on, documents (how many have a picture in the cache), folder (the cache, or null).")
    var json = false

    func run() async throws {
        let mountPoint = try mount.point
        guard case .thumbnails(let status) = try await ask(mountPoint, .thumbnails(isOn: mount.isOn), timeout: 60)
        else {
            throw fail("\(mountPoint): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(status)) }
        guard let folder = status.folder else {
            return print("\(mountPoint): off: there is no thumbnail cache, or it is in the mount")
        }
        let documents = status.documents == 1 ? "1 document" : "\(status.documents) documents"
        print("\(mountPoint): \(status.isOn ? "on, \(documents) in \(folder)" : "off")")
    }
}
