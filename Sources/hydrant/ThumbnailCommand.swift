import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Pictures

struct ThumbnailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail", abstract: "Get a document's thumbnail without downloading the document, or set it.",
        discussion: """
            The picture is the one that a program gave the document, or the store's; for a document that is here, your \
            desktop's thumbnailers make one. File managers then find it in the thumbnail cache \
            ($XDG_CACHE_HOME/thumbnails, freedesktop.org). With --set the document keeps the picture until its \
            contents change; where the store keeps pictures, other machines get it too. Examples:

              hydrant thumbnail ~/Documents/photo.jpg
              hydrant thumbnail ~/Documents/photo.jpg --size 512 -o photo.png
              hydrant thumbnail ~/Documents/report.xyz --set first-page.png
            """)

    @Argument(help: "A document in a mount.", completion: .file())
    var path: String

    @Option(
        help: "The side of the square that the picture fits into, 16 to 1024 pixels (default: 1024, with -o 256).")
    var size: Int?

    @Option(name: [.short, .long], help: "The file to write the picture to.", completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp(
            "The picture to give the document: a PNG of at most 1024 × 1024 pixels and 4 MiB.", valueName: "picture"),
        completion: .file(extensions: ["png"]))
    var set: String?

    @Flag(
        help: """
            Print an object: path, output and cached (the picture's paths, or null), bytes; with --set: path, kept \
            (store or machine), bytes.
            """)
    var json = false

    private struct Found: Encodable {
        var path: String
        var output: String?
        var cached: String?
        var bytes: Int

        private enum CodingKeys: String, CodingKey { case path, output, cached, bytes }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(output, forKey: .output)
            try container.encode(cached, forKey: .cached)
            try container.encode(bytes, forKey: .bytes)
        }
    }

    private struct Given: Encodable {
        var path: String
        var kept: GivenThumbnail
        var bytes: Int
    }

    private var pixels: Int { size ?? (output == nil ? 1_024 : 256) }

    func validate() throws {
        guard ControlRequest.thumbnailSizes.contains(pixels) else {
            throw ValidationError("--size \(pixels): choose 16 to 1024")
        }
        if set != nil, size != nil || output != nil {
            throw ValidationError("--set excludes --size and -o")
        }
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        if let set { return try await give(set, mounted) }
        guard
            case .thumbnail(let answer) = try await ask(
                mounted.mountPoint, .thumbnail(path: mounted.relative, size: pixels))
        else { throw fail("\(path): unexpected answer from the daemon; unmount and mount again") }
        if let output {
            do { try answer.picture.write(to: URL(filePath: output, directoryHint: .notDirectory)) } catch {
                throw fail("\(output): \(error.localizedDescription)")
            }
            if !json { print("\(output): \(Output.bytes(Int64(answer.picture.count)))") }
        }
        var cached: String?
        if let raster = Raster(answer.picture) {
            cached = try await install(raster, answer, mounted)
        } else if output == nil {
            throw fail(
                "\(path): the thumbnail is not a valid PNG or JPEG, which the thumbnail cache needs; get it with -o FILE"
            )
        }
        if json {
            print(Output.json(Found(path: path, output: output, cached: cached, bytes: answer.picture.count)))
        } else if let cached {
            print(cached)
        }
    }

    /// - Returns: the picture's path in the cache folder of its size.
    private func install(
        _ raster: Raster, _ answer: DocumentThumbnail, _ mounted: MountedPath
    ) async throws -> String {
        do {
            let (cache, bytes, place) = try install(raster, answer)
            // Lets Hydrant remove the thumbnail with the document.
            let note = CachedThumbnailNote(
                folder: cache.folder, uri: answer.uri, modified: answer.modified, bytes: bytes)
            _ = try await ask(mounted.mountPoint, .noteThumbnail(path: mounted.relative, note))
            return place
        } catch let problem as ThumbnailCache.Problem { throw fail("\(path): \(problem)") }
    }

    private func install(
        _ raster: Raster, _ answer: DocumentThumbnail
    ) throws -> (cache: ThumbnailCache, bytes: Int64, place: String) {
        let sizes = ThumbnailCache.Size.allCases
        let cache = try ThumbnailCache()
        let longest = max(raster.width, raster.height)
        // A picture that was asked for smaller than the document's must not go into the folders of larger sizes.
        guard let largest = sizes.first(where: { $0.rawValue >= pixels }), longest <= pixels else {
            throw ThumbnailCache.Problem(
                "the provider's picture has \(raster.width) × \(raster.height) pixels, more than was asked for")
        }
        let bytes = try cache.install(raster, of: answer.uri, modified: answer.modified, upTo: largest)
        return (cache, bytes, cache.path(of: answer.uri, sizes.first { $0.rawValue >= longest } ?? largest))
    }

    private func give(_ file: String, _ mounted: MountedPath) async throws {
        let picture: Data
        do {
            let url = URL(filePath: file, directoryHint: .notDirectory)
            let size = try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            guard size <= GivenThumbnail.bytes else {
                throw fail("\(file): \(size) bytes; a thumbnail may have at most \(GivenThumbnail.bytes)")
            }
            picture = try Data(contentsOf: url)
        } catch let exit as ExitCode { throw exit } catch { throw fail("\(file): \(error.localizedDescription)") }
        let request = ControlRequest.giveThumbnail(path: mounted.relative, picture: picture, contents: nil)
        guard case .thumbnailGiven(let kept) = try await ask(mounted.mountPoint, request) else {
            throw fail("\(path): unexpected answer from the daemon; unmount and mount again")
        }
        if json { return print(Output.json(Given(path: path, kept: kept, bytes: picture.count))) }
        print(
            "\(path): \(kept == .store ? "the store gets the picture" : "this machine keeps the picture, because the store keeps none")"
        )
    }
}
