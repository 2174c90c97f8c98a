public import Foundation
import Surroundings

/// A small file that stands for an item of a domain in a program's own folder: a bookmark, and the item's name.
public struct ReferenceDocument: Sendable, Hashable {
    /// The filename extension.
    public static let filenameExtension = "hydrant-reference"

    /// The item's name.
    public let name: String
    /// The item's bookmark.
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

    /// Reads a reference document. Blocks on the disk.
    ///
    /// - Throws: ``CoordinationError/Code/noSuchItem`` when the file is not a reference document.
    public init(contentsOf url: URL) throws {
        guard let data = try? Data(contentsOf: url), let found = ReferenceDocument(json: data) else {
            throw CoordinationError(.noSuchItem, "\(url.path(percentEncoded: false)): not a reference document")
        }
        self = found
    }

    /// Writes the reference document into a folder, durably, under the item's name, with a number if the name is taken.
    /// Only its user can read it.
    ///
    /// - Returns: the file.
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
        throw CoordinationError(
            .refused, "\(folder.path(percentEncoded: false)): has too many references to \(name); remove some")
    }

    /// Replaces an existing reference document atomically and durably.
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
