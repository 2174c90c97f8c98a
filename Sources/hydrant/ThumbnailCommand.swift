import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Pictures

struct ThumbnailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail", abstract: "Get a small picture of a document without downloading it.",
        discussion: """
            The picture is the provider's; file managers then find it in the thumbnail cache \
            ($XDG_CACHE_HOME/thumbnails, freedesktop.org). Examples:

              hydrant thumbnail ~/Documents/photo.jpg
              hydrant thumbnail ~/Documents/photo.jpg --size 512 -o photo.png
            """)

    @Argument(help: "A document in a mount.", completion: .file())
    var path: String

    @Option(help: "The picture fits into a square of so many pixels, 16 to 1024.")
    var size = 256

    @Option(name: [.short, .long], help: "Write the picture to this file.", completion: .file())
    var output: String?

    @Flag(help: "Print an object: path, output and cached (where the picture is now, or null), bytes.")
    var json = false

    private struct Found: Encodable {
        var path: String
        var output: String?
        var cached: String?
        var bytes: Int

        private enum CodingKeys: String, CodingKey { case path, output, cached, bytes }

        // Written by hand: the synthesized one leaves out the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(output, forKey: .output)
            try container.encode(cached, forKey: .cached)
            try container.encode(bytes, forKey: .bytes)
        }
    }

    func validate() throws {
        guard ControlRequest.thumbnailSizes.contains(size) else {
            throw ValidationError("--size \(size): choose 16 to 1024")
        }
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        guard
            case .thumbnail(let answer) = try await ask(
                mounted.mountPoint, .thumbnail(path: mounted.relative, size: size))
        else { throw fail("\(path): the daemon gave another answer; is it of another version?") }
        if let output {
            do { try answer.picture.write(to: URL(filePath: output, directoryHint: .notDirectory)) } catch {
                throw fail("\(output): \(error.localizedDescription)")
            }
            if !json { print("\(output): \(Output.bytes(Int64(answer.picture.count)))") }
        }
        var cached: String?
        if let picture = PNGPicture(answer.picture) {
            do { cached = "\(try ThumbnailCache().install(picture, of: answer.uri, modified: answer.modified))" } catch
            {
                throw fail("\(path): \(error)")
            }
        } else if output == nil {
            // Nothing but PNG can be in that cache.
            throw fail("\(path): the thumbnail is no PNG, which the thumbnail cache needs; get it with -o FILE")
        }
        if json {
            print(Output.json(Found(path: path, output: output, cached: cached, bytes: answer.picture.count)))
        } else if let cached {
            print(cached)
        }
    }
}
