import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Pictures

struct ThumbnailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail", abstract: "Get a small picture of a document without downloading it, or give it one.",
        discussion: """
            The picture is the one that a program gave the document, or the provider's; of a document that is here your desktop's \
            thumbnailers make one. File managers then find it in the thumbnail cache ($XDG_CACHE_HOME/thumbnails, \
            freedesktop.org). With --set the document gets this picture until its contents change; where the store keeps \
            pictures, other machines have it before the document. Examples:

              hydrant thumbnail ~/Documents/photo.jpg
              hydrant thumbnail ~/Documents/photo.jpg --size 512 -o photo.png
              hydrant thumbnail ~/Documents/report.xyz --set first-page.png
            """)

    @Argument(help: "A document in a mount.", completion: .file())
    var path: String

    @Option(
        help: "The picture fits into a square of so many pixels, 16 to 1024 (if you say nothing: 1024, with -o 256).")
    var size: Int?

    @Option(name: [.short, .long], help: "Write the picture to this file.", completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Give the document this picture: a PNG of at most 1024 × 1024 pixels and 4 MiB.", valueName: "picture"),
        completion: .file(extensions: ["png"]))
    var set: String?

    @Flag(
        help: """
            Print an object: path, output and cached (where the picture is now, or null), bytes; with --set path, kept \
            (store or machine), bytes.
            """)
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
            throw ValidationError("--set gives a picture, --size and -o are for getting one")
        }
    }

    func run() async throws {
        let mounted = try MountedPath(path)
        if let set { return try await give(set, mounted) }
        guard
            case .thumbnail(let answer) = try await ask(
                mounted.mountPoint, .thumbnail(path: mounted.relative, size: pixels))
        else { throw fail("\(path): the daemon gave another answer; is it of another version?") }
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
                "\(path): the thumbnail is no whole PNG or JPEG, which the thumbnail cache needs; get it with -o FILE")
        }
        if json {
            print(Output.json(Found(path: path, output: output, cached: cached, bytes: answer.picture.count)))
        } else if let cached {
            print(cached)
        }
    }

    /// - Returns: where it is: among the pictures of its size.
    private func install(
        _ raster: Raster, _ answer: DocumentThumbnail, _ mounted: MountedPath
    ) async throws -> String {
        do {
            let (cache, bytes, place) = try install(raster, answer)
            // (So that it goes with the document.)
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
        // What was asked for may be smaller than the document's picture: it is none for the larger folders then.
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
                throw fail("\(file): has \(size) bytes; a thumbnail has at most \(GivenThumbnail.bytes)")
            }
            picture = try Data(contentsOf: url)
        } catch let exit as ExitCode { throw exit } catch { throw fail("\(file): \(error.localizedDescription)") }
        let request = ControlRequest.giveThumbnail(path: mounted.relative, picture: picture, contents: nil)
        guard case .thumbnailGiven(let kept) = try await ask(mounted.mountPoint, request) else {
            throw fail("\(path): the daemon gave another answer; is it of another version?")
        }
        if json { return print(Output.json(Given(path: path, kept: kept, bytes: picture.count))) }
        print(
            "\(path): \(kept == .store ? "the store gets its picture" : "this machine keeps its picture, the store keeps none")"
        )
    }
}
