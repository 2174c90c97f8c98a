public import Foundation
import Surroundings

/// A small file that stands for an item of a domain in a program's own folder: a bookmark, and what to show of it.
public struct ReferenceDocument: Sendable, Hashable {
    /// What a file's name ends with.
    public static let filenameExtension = "hydrant-reference"

    /// Of the item.
    public let name: String
    /// Names the item.
    public let bookmark: Bookmark

    /// See the properties.
    public init(name: String, bookmark: Bookmark) {
        self.name = name
        self.bookmark = bookmark
    }

    private struct Contents: Codable {
        var hydrantReference = 1
        var name: String
        var bookmark: String
    }

    init?(json: Data) {
        guard let contents = try? JSONDecoder().decode(Contents.self, from: json), contents.hydrantReference == 1,
            let bookmark = Bookmark(text: contents.bookmark)
        else { return nil }
        self.init(name: contents.name, bookmark: bookmark)
    }

    /// Reads one. Blocks for as long as the disk does.
    ///
    /// - Throws: ``CoordinationError/Code/noSuchItem`` when it is none.
    public init(contentsOf url: URL) throws {
        guard let data = try? Data(contentsOf: url), let found = ReferenceDocument(json: data) else {
            throw CoordinationError(.noSuchItem, "\(url.path(percentEncoded: false)): is no reference document")
        }
        self = found
    }

    /// Writes it into a folder, under the item's name; if that is taken, with a number. Only its user can read it.
    ///
    /// - Returns: where it is; it is on disk.
    public func write(into folder: URL) throws -> URL {
        let data = try data()
        for number in 1..<10_000 {
            let suffix = number == 1 ? "" : " \(number)"
            // A name has at most 255 bytes.
            var name = name
            while name.utf8.count + suffix.utf8.count + Self.filenameExtension.utf8.count + 1 > 255 {
                name.removeLast()
            }
            let url = folder.appending(
                path: "\(name)\(suffix).\(Self.filenameExtension)", directoryHint: .notDirectory)
            let path = url.path(percentEncoded: false)
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor < 0 && errno == EEXIST { continue }
            guard descriptor >= 0 else { throw Self.failure(path) }
            defer { close(descriptor) }
            let count = data.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count == data.count, fsync(descriptor) == 0 else {
                let error = Self.failure(path)
                unlink(path)
                throw error
            }
            return url
        }
        throw CoordinationError(.refused, "\(folder.path(percentEncoded: false)): has too many references to \(name)")
    }

    /// Puts this in the place of a reference document that is there, whole and on disk when it returns.
    public func replace(at url: URL) throws {
        let path = url.path(percentEncoded: false)
        let new = (path as NSString).deletingLastPathComponent + "/.hydrant-reference-\(UUID().uuidString)"
        let data = try data()
        do throws(SmallFile.Failure) { try SmallFile.replace(path, with: data, draft: new) } catch {
            throw CoordinationError(.refused, "\(path): cannot be written: \(error.reason)")
        }
    }

    private func data() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(Contents(name: name, bookmark: bookmark.text)) + Data("\n".utf8)
    }

    private static func failure(_ path: String) -> CoordinationError {
        CoordinationError(.refused, "\(path): cannot be written: \(String(cString: strerror(errno)))")
    }
}
