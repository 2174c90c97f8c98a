import ControlAPI
import FileCoordination
import Foundation

/// Finds the reference document of an item in a program's container, with the same right as the program would get.
struct ReferenceFinder: Sendable {
    struct Right: Equatable, Sendable {
        var program: String?
        var isWritable: Bool
        var until: Date?
    }
    struct Found: Sendable {
        var url: URL
        var bookmark: Bookmark
    }

    let container: URL
    let client: DomainClient
    let right: Right

    /// Bounds of the search: the number of reference documents, and their size.
    private static let most = 1_000
    private static let largest = 1 << 16

    /// Nil: none was found.
    func find(_ item: URL) async -> Found? {
        let (container, path) = (container, item.standardizedFileURL.path(percentEncoded: false))
        guard let all = try? await onThread({ Self.references(in: container) }) else { return nil }
        for found in all {
            // One request for each bookmark of this domain with a right.
            guard let grant = try? await client.grant(of: found.bookmark), grant.path == path,
                grant.program == right.program, grant.isWritable == right.isWritable,
                grant.until == right.until?.timeIntervalSince1970
            else { continue }
            return found
        }
        return nil
    }

    private static func references(in container: URL) -> [Found] {
        let folder = container.path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix("." + ReferenceDocument.filenameExtension) }.sorted().prefix(most).compactMap
        {
            name in
            let url = container.appending(path: name, directoryHint: .notDirectory)
            var status = stat()
            guard lstat(url.path(percentEncoded: false), &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                status.st_size <= largest, let document = try? ReferenceDocument(contentsOf: url)
            else { return nil }
            return Found(url: url, bookmark: document.bookmark)
        }
    }
}
