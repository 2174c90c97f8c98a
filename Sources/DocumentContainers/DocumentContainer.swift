import Foundation
import Surroundings
import TOMLKit
public import UniformTypes

/// A folder in a mounted domain that belongs to a program: its documents are there, and, when the container is public, other
/// programs' pickers offer it, without an extension of the program's own.
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
/// Only `identifier` and `name` are needed. `folder` is relative to the mount point, and the name of the container unless it
/// is given; without `domain` the user says which one, or it is the only one that is mounted.
///
/// Source: Apple, *Information Property List Key Reference*, `NSUbiquitousContainers`.
public struct DocumentContainer: Sendable, Hashable {
    /// How deep folders may lie in a container, as pickers show it.
    public enum FolderLevels: String, Sendable, Hashable, Codable, CaseIterable {
        /// Documents only.
        case none
        /// Folders, and none in those.
        case one
        /// Whatever there is.
        case any
    }

    /// Of the container.
    public let identifier: String
    /// As the user knows it.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// Whether other programs' pickers offer it.
    public let isPublic: Bool
    /// See ``FolderLevels``.
    public let folderLevels: FolderLevels
    /// What it has documents of; pickers do not offer it for others. `public.content` is all.
    public let supportedTypes: [UniformType]
    /// The names that lead to it from the mount point.
    public let folder: [String]
    /// The name of the domain that it is in; nil: the user's choice.
    public let domain: String?
    /// The absolute path of the executable whose own container this is; nil: of none in particular.
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

    /// From the text of a manifest.
    ///
    /// - Throws: what is wrong with it.
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
            throw DocumentContainerError("“\(levels)” is no number of levels; there are none, one and any")
        }
        folderLevels = known
        var types: [UniformType] = []
        for word in contents.types ?? [UniformType.content.identifier] {
            guard let type = UniformTypeTable.system.type(named: word) else {
                throw DocumentContainerError("“\(word)” is no type")
            }
            types.append(type)
        }
        supportedTypes = types
    }

    private static func check(_ contents: Contents) throws(DocumentContainerError) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"
        guard contents.identifier.allSatisfy({ letters.contains($0) }), 1...128 ~= contents.identifier.count,
            !contents.identifier.hasPrefix(".")
        else { throw DocumentContainerError("“\(contents.identifier)” is no identifier, like org.example.notes") }
        let isName = !contents.name.contains { $0 == "/" || $0.unicodeScalars.contains { $0.value < 0x20 } }
        guard isName, 1...255 ~= contents.name.utf8.count else {
            throw DocumentContainerError("“\(contents.name)” cannot be a name")
        }
        let folder = contents.folder ?? contents.name
        let parts = folder.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 64, parts.allSatisfy({ isFolderName($0) }) else {
            throw DocumentContainerError("“\(folder)” is no path relative to a mount point")
        }
        if let program = contents.program, !program.hasPrefix("/") {
            throw DocumentContainerError("program is an absolute path")
        }
    }

    private static func isFolderName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 && !name.contains("\0")
    }
}

// MARK: What is installed

extension DocumentContainer {
    private static let inDataFolder = "hydrant/containers"
    /// A manifest is no longer than this.
    private static let largest = 64 << 10

    /// All that are installed, the user's own before the machine's; what is wrong with others' manifests.
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

    /// From a manifest's file.
    public static func read(_ file: String) throws(DocumentContainerError) -> DocumentContainer {
        let data: Data
        do { data = try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory)) } catch {
            throw DocumentContainerError("\(file): \(error.localizedDescription)")
        }
        guard data.count <= largest else { throw DocumentContainerError("\(file): is larger than 64 KiB") }
        do { return try DocumentContainer(toml: String(decoding: data, as: UTF8.self)) } catch {
            throw DocumentContainerError("\(file): \(error.message)")
        }
    }

    /// Makes a container known to this user's programs, instead of one with its identifier. It is in the user's data folder when
    /// this returns.
    ///
    /// - Parameter manifest: the text of one.
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

    /// The user's own manifest of this container is gone, whatever its file is called; the documents in the container stay.
    ///
    /// - Returns: the file of the machine's manifest by which the user's programs know the container all the same; nil: they know
    ///   it no more.
    /// - Throws: when this user has not installed it.
    @discardableResult
    public static func uninstall(_ identifier: String) throws(DocumentContainerError) -> String? {
        let folder = try ownFolder()
        var files = manifests(of: identifier, in: folder)
        // One that cannot be read is known by its name only.
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

    /// The first of them holds (``installed()``).
    private static func manifests(of identifier: String, in folder: String) -> [String] {
        files(in: folder).filter { (try? read($0))?.identifier == identifier }
    }

    private static func files(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".toml") }.sorted()
            .map { "\(folder)/\($0)" }
    }

    /// The one that has it already, or a new one, never another container's.
    private static func fileToWrite(for identifier: String) throws(DocumentContainerError) -> String {
        let folder = try ownFolder()
        if let known = manifests(of: identifier, in: folder).first { return known }
        for number in 1...100 {
            let file = "\(folder)/\(identifier)\(number == 1 ? "" : "-\(number)").toml"
            if (try? read(file)) == nil { return file }
        }
        throw DocumentContainerError("\(folder): other containers have all names for “\(identifier)”")
    }
}

/// Why there is no such container, or not now.
public struct DocumentContainerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// For people: what happened, to which container, and what to do.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ message: String) { self.message = message }
}
