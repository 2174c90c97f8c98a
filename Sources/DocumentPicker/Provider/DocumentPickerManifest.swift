import Foundation
import Surroundings
import TOMLKit
public import UniformTypes

/// A provider's description of its document picker.
///
/// A file `NAME.toml` in `hydrant/pickers` of a data folder (`$XDG_DATA_HOME`, `$XDG_DATA_DIRS`):
///
/// ```toml
/// identifier = "org.example.notes.picker"
/// name = "Notes"
/// icon = "accessories-text-editor"
/// modes = ["import", "open"]
/// types = ["public.text"]
/// group = "org.example.notes"
/// provider = "org.example.notes"
/// program = "/usr/lib/notes/hydrant-picker"
/// ```
///
/// `provider` is the file provider's identifier: the manifest applies to its mounted domains, or, with `domain`, to
/// that one only. Without `provider`, `program` is required, and the modes open and move are not possible. Without
/// `program`, the picker uses the standard browser. `export` as the only mode makes a drop box, which lists no
/// documents.
///
/// Source: Apple, *App Extension Programming Guide*, "Document Provider".
public struct DocumentPickerManifest: Sendable, Hashable {
    /// The picker's identifier.
    public let identifier: String
    /// The name to show.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// The modes that the picker supports.
    public let modes: Set<DocumentPickerMode>
    /// The types of its documents; it is not offered for others. `public.content` covers all.
    public let supportedTypes: [UniformType]
    /// Identifies a folder that the programs of one provider share.
    public let documentGroup: String?
    /// The identifier of the file provider; nil: none.
    public let fileProvider: String?
    /// The only domain that the manifest applies to; nil: all domains of the provider.
    public let domain: String?
    /// The executable of the extension (``DocumentPickerExtensionMain``); nil: the standard browser.
    public let program: String?

    /// Whether documents can only be put there.
    public var isDropBox: Bool { modes == [.export] }

    init(
        identifier: String, name: String, icon: String? = nil, modes: Set<DocumentPickerMode>,
        supportedTypes: [UniformType] = [.content], documentGroup: String? = nil, fileProvider: String? = nil,
        domain: String? = nil, program: String? = nil
    ) {
        self.identifier = identifier
        self.name = name
        self.icon = icon
        self.modes = modes
        self.supportedTypes = supportedTypes
        self.documentGroup = documentGroup
        self.fileProvider = fileProvider
        self.domain = domain
        self.program = program
    }

    private struct Contents: Decodable {
        var identifier: String
        var name: String
        var icon: String?
        var modes: [String]
        var types: [String]?
        var group: String?
        var provider: String?
        var domain: String?
        var program: String?
    }

    /// Reads the text of a manifest.
    ///
    /// - Throws: ``DocumentPickerError`` if the manifest has an error.
    public init(toml text: String) throws {
        let contents: Contents
        do { contents = try TOMLDecoder().decode(Contents.self, from: text) } catch {
            throw DocumentPickerError("a manifest needs identifier, name and modes: \(error)")
        }
        let modes = try contents.modes.map { word in
            guard let mode = DocumentPickerMode(rawValue: word) else {
                throw DocumentPickerError("“\(word)” is not a mode; choose of import, open, export and move")
            }
            return mode
        }
        let types = try (contents.types ?? [UniformType.content.identifier]).map { word in
            guard let type = UniformTypeTable.system.type(named: word) else {
                throw DocumentPickerError("“\(word)” is not a type")
            }
            return type
        }
        if modes.isEmpty { throw DocumentPickerError("the manifest has no modes") }
        if contents.identifier.isEmpty || contents.identifier.contains("/") {
            throw DocumentPickerError("“\(contents.identifier)” is not an identifier")
        }
        if let group = contents.group, BaseDirectory.group(group) == nil {
            throw DocumentPickerError("“\(group)” is not a document group")
        }
        if let program = contents.program, !program.hasPrefix("/") {
            throw DocumentPickerError("program must be an absolute path")
        }
        if contents.provider == nil {
            if contents.program == nil { throw DocumentPickerError("a manifest without provider needs program") }
            if let mode = modes.first(where: \.needsFileProvider) {
                throw DocumentPickerError("the mode \(mode.rawValue) needs provider")
            }
        }
        self.init(
            identifier: contents.identifier, name: contents.name, icon: contents.icon, modes: Set(modes),
            supportedTypes: types, documentGroup: contents.group, fileProvider: contents.provider,
            domain: contents.domain, program: contents.program)
    }

    /// The installed manifests, and the errors of faulty ones.
    static func installed() -> (manifests: [DocumentPickerManifest], problems: [String]) {
        var manifests: [DocumentPickerManifest] = []
        var problems: [String] = []
        for folder in BaseDirectory.shared() {
            let path = folder + "/hydrant/pickers"
            for name in ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
            where name.hasSuffix(".toml") {
                let file = path + "/" + name
                do {
                    let data = try Data(contentsOf: URL(filePath: file, directoryHint: .notDirectory))
                    let manifest = try DocumentPickerManifest(toml: String(decoding: data, as: UTF8.self))
                    // The user's own manifest, found first, takes precedence.
                    if !manifests.contains(where: { $0.identifier == manifest.identifier }) {
                        manifests.append(manifest)
                    }
                } catch { problems.append("\(file): \(error)") }
            }
        }
        return (manifests, problems)
    }
}
