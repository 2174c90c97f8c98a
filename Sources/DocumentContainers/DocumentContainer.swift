import Foundation
import Surroundings
import TOMLKit
public import UniformTypes

/// A program's own folder in a mounted domain, for its documents. Other programs' pickers offer a public container,
/// without an extension of the program's own.
///
/// A file `NAME.toml` in `hydrant/containers` of a data folder (`$XDG_DATA_HOME`, `$XDG_DATA_DIRS`):
///
/// ```toml
/// identifier = "org.example.notes"
/// name = "Notes"
/// icon = "accessories-text-editor"
/// public = true
/// levels = "one"
/// types = ["public.text"]
/// folder = "Documents/Notes"
/// domain = "work"
/// program = "/usr/bin/notes"
/// ```
///
/// Only `identifier` and `name` are required. `folder` is relative to the mount point; default: the container's name.
/// Without `domain` the user chooses the domain, or it is the only one that is mounted.
///
/// Source: Apple, *Information Property List Key Reference*, `NSUbiquitousContainers`.
public struct DocumentContainer: Sendable, Hashable {
    /// The levels of folders that pickers show in a container.
    public enum FolderLevels: String, Sendable, Hashable, Codable, CaseIterable {
        /// Documents only.
        case none
        /// Folders without folders in them.
        case one
        /// All folders.
        case any
    }

    /// The container's identifier.
    public let identifier: String
    /// The name to show.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// Whether other programs' pickers offer the container.
    public let isPublic: Bool
    /// See ``FolderLevels``.
    public let folderLevels: FolderLevels
    /// The types of its documents; pickers do not offer it for others. `public.content` covers all.
    public let supportedTypes: [UniformType]
    /// The components of the folder's path, relative to the mount point.
    public let folder: [String]
    /// The name of the container's domain; nil: the user's choice.
    public let domain: String?
    /// The absolute path of the executable that owns the container; nil: none in particular.
    public let program: String?

    private struct Contents: Decodable {
        var identifier: String
        var name: String
        var icon: String?
        var isPublic: Bool?
        var levels: String?
        var types: [String]?
        var folder: String?
        var domain: String?
        var program: String?

        enum CodingKeys: String, CodingKey {
            case identifier, name, icon, levels, types, folder, domain, program
            case isPublic = "public"
        }
    }

    /// Reads the text of a manifest.
    ///
    /// - Throws: if the manifest has an error.
    public init(toml text: String) throws(DocumentContainerError) {
        let contents: Contents
        do { contents = try TOMLDecoder().decode(Contents.self, from: text) } catch {
            throw DocumentContainerError("a container's manifest needs identifier and name: \(error)")
        }
        try Self.check(contents)
        identifier = contents.identifier
        name = contents.name
        icon = contents.icon
        isPublic = contents.isPublic ?? false
        domain = contents.domain
        program = contents.program
        folder = (contents.folder ?? contents.name).split(separator: "/").map(String.init)
        let levels = contents.levels ?? FolderLevels.any.rawValue
        guard let known = FolderLevels(rawValue: levels) else {
            throw DocumentContainerError("“\(levels)” is not a number of levels; choose none, one or any")
        }
        folderLevels = known
        var types: [UniformType] = []
        for word in contents.types ?? [UniformType.content.identifier] {
            guard let type = UniformTypeTable.system.type(named: word) else {
                throw DocumentContainerError("“\(word)” is not a type")
            }
            types.append(type)
        }
        supportedTypes = types
    }

    private static func check(_ contents: Contents) throws(DocumentContainerError) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"
        guard contents.identifier.allSatisfy({ letters.contains($0) }), 1...128 ~= contents.identifier.count,
            !contents.identifier.hasPrefix(".")
        else {
            throw DocumentContainerError(
                "“\(contents.identifier)” is not an identifier; write one such as org.example.notes")
        }
        let isName = !contents.name.contains { $0 == "/" || $0.unicodeScalars.contains { $0.value < 0x20 } }
        guard isName, 1...255 ~= contents.name.utf8.count else {
            throw DocumentContainerError("“\(contents.name)” cannot be a name")
        }
        let folder = contents.folder ?? contents.name
        let parts = folder.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 64, parts.allSatisfy({ isFolderName($0) }) else {
            throw DocumentContainerError("“\(folder)” is not a path relative to a mount point")
        }
        if let program = contents.program, !program.hasPrefix("/") {
            throw DocumentContainerError("program must be an absolute path")
        }
    }

    private static func isFolderName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 && !name.contains("\0")
    }
}

// MARK: Installed containers

extension DocumentContainer {
    private static let inDataFolder = "hydrant/containers"
    /// The largest manifest, in bytes.
    private static let largest = 64 << 10

    /// The installed containers, the user's own before the machine's, and the errors of faulty manifests.
    public static func installed() -> (containers: [DocumentContainer], problems: [String]) {
        var containers: [DocumentContainer] = []
        var problems: [String] = []
        for folder in BaseDirectory.shared() {
            for file in files(in: "\(folder)/\(inDataFolder)") {
                do {
                    let container = try read(file)
                    if !containers.contains(where: { $0.identifier == container.identifier }) {
                        containers.append(container)
                    }
                } catch { problems.append(error.message) }
            }
        }
        return (
            containers.sorted { ($0.name.lowercased(), $0.identifier) < ($1.name.lowercased(), $1.identifier) },
            problems
        )
    }

    /// Reads a manifest's file.
    public static func read(_ file: String) throws(DocumentContainerError) -> DocumentContainer {
        let data: Data
        do { data = try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)) } catch {
            throw DocumentContainerError("\(file): \(error.localizedDescription)")
        }
        guard data.count <= largest else { throw DocumentContainerError("\(file): larger than 64 KiB") }
        do { return try DocumentContainer(toml: String(decoding: data, as: UTF8.self)) } catch {
            throw DocumentContainerError("\(file): \(error.message)")
        }
    }

    /// Installs a container for this user's programs, in place of one with its identifier: writes the manifest into the
    /// user's data folder.
    ///
    /// - Parameter manifest: the text of a manifest.
    @discardableResult
    public static func install(manifest: String) throws(DocumentContainerError) -> DocumentContainer {
        let container = try DocumentContainer(toml: manifest)
        let file = try fileToWrite(for: container.identifier)
        do {
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(manifest.utf8).write(to: URL(filePath: file, directoryHint: .notDirectory), options: .atomic)
        } catch { throw DocumentContainerError("\(file): \(error.localizedDescription)") }
        return container
    }

    /// Removes the user's own manifest of this container, whatever the file's name; keeps the documents in the
    /// container.
    ///
    /// - Returns: the machine's manifest that still declares the container; nil: none.
    /// - Throws: when this user has not installed the container.
    @discardableResult
    public static func uninstall(_ identifier: String) throws(DocumentContainerError) -> String? {
        let folder = try ownFolder()
        var files = manifests(of: identifier, in: folder)
        // An unreadable manifest can be found by its file's name only.
        let named = "\(folder)/\(identifier).toml"
        if files.isEmpty, !identifier.contains("/"), (try? read(named)) == nil { files = [named] }
        if files.isEmpty { throw DocumentContainerError("“\(identifier)” is not installed by this user") }
        for file in files where unlink(file) != 0 {
            throw DocumentContainerError(
                errno == ENOENT
                    ? "“\(identifier)” is not installed by this user" : "\(file): \(String(cString: strerror(errno)))")
        }
        return BaseDirectory.shared().lazy.compactMap { manifests(of: identifier, in: "\($0)/\(inDataFolder)").first }
            .first
    }

    private static func ownFolder() throws(DocumentContainerError) -> String {
        guard let data = BaseDirectory.data.path() else { throw DocumentContainerError(BaseDirectory.data.missing) }
        return "\(data)/\(inDataFolder)"
    }

    /// The files of a container's manifests in a folder; the first takes precedence (``installed()``).
    private static func manifests(of identifier: String, in folder: String) -> [String] {
        files(in: folder).filter { (try? read($0))?.identifier == identifier }
    }

    private static func files(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".toml") }.sorted()
            .map { "\(folder)/\($0)" }
    }

    /// The file that has the container's manifest already, or a new one; never the file of another container.
    private static func fileToWrite(for identifier: String) throws(DocumentContainerError) -> String {
        let folder = try ownFolder()
        if let known = manifests(of: identifier, in: folder).first { return known }
        for number in 1...100 {
            let file = "\(folder)/\(identifier)\(number == 1 ? "" : "-\(number)").toml"
            if (try? read(file)) == nil { return file }
        }
        throw DocumentContainerError("\(folder): other containers use all file names for “\(identifier)”; remove one")
    }
}

/// An error of a container.
public struct DocumentContainerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For people: the container, what happened, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ message: String) { self.message = message }
}
