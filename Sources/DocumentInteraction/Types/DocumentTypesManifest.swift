public import Foundation
import TOMLKit
public import UniformTypes

/// A program's description of the documents that it opens.
///
/// A TOML file:
///
/// ```toml
/// identifier = "org.example.notes"        # the program's; its desktop entry is org.example.notes.desktop
/// name = "Notes"
/// program = "/usr/bin/notes"              # a path, or a name in PATH
/// arguments = ["--edit", "%f"]            # %f: the path, %u: the URL; default: ["%f"]
/// icons = ["notes-48.png", "notes.svg"]   # files beside the manifest, or one name of an icon theme
/// terminal = false
/// dbus-arguments = ["--gapplication-service"]   # the bus starts the program with these arguments
///
/// [[types]]                               # types that only this program defines
/// identifier = "org.example.note"
/// name = "Note"
/// conforms-to = ["public.plain-text"]
/// mime = "application/x-note"             # default: application/vnd.IDENTIFIER
/// extensions = ["note"]
///
/// [[documents]]                           # a kind of document that the program opens, of one type or several
/// name = "Note"
/// types = ["org.example.note", ".md"]
/// icons = ["note-48.png"]                 # for its types that are declared here
/// rank = "owner"                          # or "alternate"
/// ```
///
/// Source: Apple, *Information Property List Key Reference*: `CFBundleDocumentTypes`, `UTExportedTypeDeclarations`.
public struct DocumentTypesManifest: Sendable, Hashable {
    /// A type that the program defines.
    public struct DeclaredType: Sendable, Hashable {
        /// The uniform type identifier.
        public let identifier: String
        /// The name to show.
        public let name: String
        /// The types that it conforms to.
        public let conformsTo: [UniformType]
        /// The MIME type.
        public let mimeType: String
        /// Filename extensions, without a dot.
        public let extensions: [String]
    }

    /// A kind of document that the program opens.
    public struct DocumentType: Sendable, Hashable {
        /// The name to show.
        public let name: String
        /// The types of such documents.
        public let types: [UniformType]
        /// Files beside the manifest, or one name of an icon theme.
        public let icons: [String]
        /// Whether these documents are the program's own; otherwise it can also open them.
        public let isOwner: Bool
        /// The MIME types.
        public let mimeTypes: [String]
    }

    /// The program's identifier, in reverse-DNS form.
    public let identifier: String
    /// The program's name to show.
    public let name: String
    /// The executable.
    public let program: String
    /// The arguments to start it with: `%f` is the document's path, `%u` its URL.
    public let arguments: [String]
    /// Files beside the manifest, or one name of an icon theme.
    public let icons: [String]
    /// Whether the program runs in a terminal.
    public let needsTerminal: Bool
    /// The arguments with which the bus starts it; nil: it does not open documents over D-Bus.
    public let busArguments: [String]?
    /// See ``DeclaredType``.
    public let declaredTypes: [DeclaredType]
    /// See ``DocumentType``.
    public let documents: [DocumentType]
    /// The text that it was read from.
    let text: String

    /// The bounds of a manifest.
    private static let (mostBytes, mostEntries, mostWords) = (64 << 10, 100, 100)

    private struct Contents: Decodable {
        struct DeclaredType: Decodable {
            var identifier: String
            var name: String?
            var conformsTo: [String]?
            var mime: String?
            var extensions: [String]?
            private enum CodingKeys: String, CodingKey {
                case identifier, name, mime, extensions
                case conformsTo = "conforms-to"
            }
        }
        struct DocumentType: Decodable {
            var name: String
            var types: [String]
            var icons: [String]?
            var rank: String?
        }
        var identifier: String
        var name: String
        var program: String
        var arguments: [String]?
        var icons: [String]?
        var terminal: Bool?
        var busArguments: [String]?
        var types: [DeclaredType]?
        var documents: [DocumentType]
        private enum CodingKeys: String, CodingKey {
            case identifier, name, program, arguments, icons, terminal, types, documents
            case busArguments = "dbus-arguments"
        }
    }

    /// Reads the text of a manifest.
    ///
    /// - Throws: ``DocumentInteractionError``, with ``DocumentInteractionError/Code/badManifest``.
    public init(toml text: String) throws {
        guard text.utf8.count <= Self.mostBytes else { throw Self.bad("the manifest is larger than 64 KiB") }
        let contents: Contents
        do { contents = try TOMLDecoder().decode(Contents.self, from: text) } catch {
            throw Self.bad("a manifest needs identifier, name, program and documents: \(error)")
        }
        try Self.check(identifier: contents.identifier)
        try Self.check(names: [contents.name, contents.program] + (contents.documents.map(\.name)))
        let all = (contents.arguments ?? []) + (contents.busArguments ?? []) + (contents.icons ?? [])
        try Self.check(names: all, mayBeEmpty: true)
        guard !contents.documents.isEmpty else { throw Self.bad("the manifest has no documents") }
        guard contents.documents.count <= Self.mostEntries, (contents.types ?? []).count <= Self.mostEntries,
            all.count <= Self.mostWords
        else { throw Self.bad("the manifest has more than \(Self.mostEntries) documents, types, arguments or icons") }
        let declared = try (contents.types ?? []).map { try Self.declared($0, contents.documents) }
        identifier = contents.identifier
        name = contents.name
        program = contents.program
        arguments = contents.arguments ?? ["%f"]
        icons = contents.icons ?? []
        needsTerminal = contents.terminal ?? false
        busArguments = contents.busArguments
        declaredTypes = declared
        documents = try contents.documents.map { try Self.document($0, declared) }
        self.text = text
    }

    /// Reads a file.
    ///
    /// - Throws: ``DocumentInteractionError``.
    public init(contentsOf url: URL) throws {
        let path = url.path(percentEncoded: false)
        let read: (bytes: [UInt8], isWhole: Bool)
        do { read = try FileBytes.read(path, most: Self.mostBytes) } catch {
            throw DocumentInteractionError(.badManifest, "\(error)")
        }
        guard read.isWhole else { throw Self.bad("\(path): larger than 64 KiB") }
        do { try self.init(toml: String(decoding: read.bytes, as: UTF8.self)) } catch let error
            as DocumentInteractionError
        {
            throw Self.bad("\(path): \(error.message)")
        }
    }

    private static func declared(
        _ type: Contents.DeclaredType, _ documents: [Contents.DocumentType]
    ) throws -> DeclaredType {
        try check(identifier: type.identifier)
        if UniformTypeTable.builtIn.knows(UniformType(type.identifier)) {
            throw bad("\(type.identifier) exists already; name it in documents only")
        }
        let mime = (type.mime ?? "application/vnd.\(type.identifier)").lowercased()
        guard mime.wholeMatch(of: /[a-z0-9][a-z0-9!#$&^_.+-]{0,100}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/) != nil else {
            throw bad("“\(mime)” is not a MIME type")
        }
        let extensions = try (type.extensions ?? []).map { word in
            let bare = word.hasPrefix(".") ? String(word.dropFirst()) : word
            guard bare.wholeMatch(of: /[^\/*?\[\]:<>&"'[:cntrl:]]{1,60}/) != nil, isPlain(bare) else {
                throw bad("“\(word)” is not a filename extension")
            }
            return bare
        }
        let named = documents.first { $0.types.contains(type.identifier) }?.name
        let name = type.name ?? named ?? type.identifier
        try check(names: [name])
        let parents = try (type.conformsTo ?? ["public.data", "public.content"]).map { word in
            guard let parent = UniformTypeTable.system.type(named: word) else { throw bad("“\(word)” is not a type") }
            return parent
        }
        return DeclaredType(
            identifier: type.identifier, name: name, conformsTo: parents, mimeType: mime, extensions: extensions)
    }

    private static func document(_ type: Contents.DocumentType, _ declared: [DeclaredType]) throws -> DocumentType {
        guard ["owner", "alternate", nil].contains(type.rank) else {
            throw bad("“\(type.rank ?? "")” is not a rank; choose owner or alternate")
        }
        try check(names: type.icons ?? [], mayBeEmpty: true)
        guard !type.types.isEmpty, type.types.count <= mostEntries else {
            throw bad("“\(type.name)” has no types, or more than \(mostEntries)")
        }
        var (types, mimes) = ([UniformType](), [String]())
        let table = UniformTypeTable.system
        for word in type.types {
            if let own = declared.first(where: { $0.identifier.lowercased() == word.lowercased() }) {
                types.append(UniformType(own.identifier))
                mimes.append(own.mimeType)
                continue
            }
            guard let known = table.type(named: word) else { throw bad("“\(word)” is not a type") }
            let names = table.mimeType(of: known).map { [$0] } ?? table.mimeTypes(conformingTo: known)
            guard !names.isEmpty else {
                throw bad("“\(word)” is not a known type; declare it in [[types]]")
            }
            types.append(known)
            mimes += names
        }
        return DocumentType(
            name: type.name, types: types, icons: type.icons ?? [], isOwner: type.rank == "owner", mimeTypes: mimes)
    }

    /// Checks an identifier, which becomes the name of files, and of a program on D-Bus.
    static func check(identifier: String) throws {
        guard identifier.utf8.count <= 200,
            identifier.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+/) != nil
        else { throw bad("“\(identifier)” is not an identifier; write one such as org.example.notes") }
    }

    private static func check(names: [String], mayBeEmpty: Bool = false) throws {
        for name in names {
            guard isPlain(name), name.utf8.count <= 1_000, mayBeEmpty || !name.isEmpty else {
                throw bad(
                    "“\(name.prefix(40))” is empty, too long, or has a line end or another control character in it")
            }
        }
    }

    /// Whether a text has no control characters, and no characters that XML excludes (*XML 1.0*, 2.2).
    private static func isPlain(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) || [0xfffe, 0xffff].contains(scalar.value)
        }
    }

    private static func bad(_ message: String) -> DocumentInteractionError {
        DocumentInteractionError(.badManifest, message)
    }
}
