import Foundation
import Surroundings
import TOMLKit
public import UniformTypes

/// What a provider says of its document picker.
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
/// `provider` is the file provider's identifier: the manifest is for its mounted domains (with `domain`, for that one only).
/// Without a file provider `program` is needed, and there is no open and no move. Without `program` there is the standard
/// browser. `export` alone makes a drop box: nothing is listed.
///
/// Source: Apple, *App Extension Programming Guide*, "Document Provider".
public struct DocumentPickerManifest: Sendable, Hashable {
    /// Of the picker.
    public let identifier: String
    /// As the user knows it.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// What it can be asked for.
    public let modes: Set<DocumentPickerMode>
    /// What it has documents of; it is not offered for others. `public.content` is all.
    public let supportedTypes: [UniformType]
    /// Names a folder that programs of one provider share.
    public let documentGroup: String?
    /// The identifier of the file provider; nil: there is none.
    public let fileProvider: String?
    /// Only for the domain of this name.
    public let domain: String?
    /// The executable of its extension (``DocumentPickerExtensionMain``); nil: the standard browser.
    public let program: String?

    /// Whether only documents are put there.
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

    /// From the text of a manifest.
    ///
    /// - Throws: ``DocumentPickerError``, what is wrong with it.
    public init(toml text: String) throws {
        let contents: Contents
        do { contents = try TOMLDecoder().decode(Contents.self, from: text) } catch {
            throw DocumentPickerError("a manifest needs identifier, name and modes: \(error)")
        }
        let modes = try contents.modes.map { word in
            guard let mode = DocumentPickerMode(rawValue: word) else {
                throw DocumentPickerError("“\(word)” is no mode; there are import, open, export and move")
            }
            return mode
        }
        let types = try (contents.types ?? [UniformType.content.identifier]).map { word in
            guard let type = UniformTypeTable.system.type(named: word) else {
                throw DocumentPickerError("“\(word)” is no type")
            }
            return type
        }
        if modes.isEmpty { throw DocumentPickerError("it has no modes") }
        if contents.identifier.isEmpty || contents.identifier.contains("/") {
            throw DocumentPickerError("“\(contents.identifier)” is no identifier")
        }
        if let group = contents.group, BaseDirectory.group(group) == nil {
            throw DocumentPickerError("“\(group)” is no document group")
        }
        if let program = contents.program, !program.hasPrefix("/") {
            throw DocumentPickerError("program is an absolute path")
        }
        if contents.provider == nil {
            if contents.program == nil { throw DocumentPickerError("without a file provider it needs a program") }
            if let mode = modes.first(where: \.needsFileProvider) {
                throw DocumentPickerError("there is no \(mode.rawValue) without a file provider")
            }
        }
        self.init(
            identifier: contents.identifier, name: contents.name, icon: contents.icon, modes: Set(modes),
            supportedTypes: types, documentGroup: contents.group, fileProvider: contents.provider,
            domain: contents.domain, program: contents.program)
    }

    /// All that are installed, by their files; what is wrong with the others.
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
                    // The user's own first.
                    if !manifests.contains(where: { $0.identifier == manifest.identifier }) {
                        manifests.append(manifest)
                    }
                } catch { problems.append("\(file): \(error)") }
            }
        }
        return (manifests, problems)
    }
}
