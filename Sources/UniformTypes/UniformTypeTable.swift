import Foundation
import Surroundings

/// The known types, the types that they conform to, and their MIME types and filename extensions.
///
/// The types that Apple declares are built in; filename extensions and all other MIME types come from the machine's
/// database (Debian: shared-mime-info). Without a database the built-in types remain. A MIME type without an identifier
/// of its own is `dyn.mime.TYPE`, and conforms to the types of its parents.
public struct UniformTypeTable: Sendable {
    private let database: MIMEDatabase
    private let conformances: [UniformType: [UniformType]]
    private let typesByMIME: [String: UniformType]
    private let mimeTypes: [UniformType: String]
    private let typesByExtension: [String: UniformType]

    /// This machine's table, read at the first use.
    public static let system = UniformTypeTable(dataDirectories: BaseDirectory.shared())

    /// The built-in types only.
    package static let builtIn = UniformTypeTable(dataDirectories: [])

    /// - Parameter dataDirectories: folders with `mime/globs2`, as in `$XDG_DATA_DIRS`; the first wins.
    public init(dataDirectories: [String]) {
        database = MIMEDatabase(folders: dataDirectories)
        var conformances: [UniformType: [UniformType]] = [:]
        var typesByMIME: [String: UniformType] = [:]
        var mimeTypes: [UniformType: String] = [:]
        var typesByExtension: [String: UniformType] = [:]
        // Registered types do not replace built-in ones.
        let builtIn = Set(DeclaredTypes.all.map { $0.identifier.lowercased() })
        let registered = RegisteredTypes.all(in: dataDirectories).filter {
            !builtIn.contains($0.identifier.lowercased())
        }
        for declared in registered.map(\.declaration) + DeclaredTypes.all {
            let type = UniformType(declared.identifier)
            conformances[type] = declared.conformsTo.map { UniformType($0) }
            mimeTypes[type] = declared.mimeTypes.first
            for mime in declared.mimeTypes {
                typesByMIME[mime] = type
                // The machine may have another name for the MIME type.
                typesByMIME[database.canonical(mime)] = type
            }
            for suffix in declared.extensions { typesByExtension[suffix] = type }
        }
        self.conformances = conformances
        self.typesByMIME = typesByMIME
        self.mimeTypes = mimeTypes
        self.typesByExtension = typesByExtension
    }

    // MARK: Types of documents

    /// The type of a document with this name. (Does not read contents.)
    public func type(ofFilename name: String) -> UniformType {
        if let mime = database.mimeType(ofFilename: name) { return type(ofMIMEType: mime) }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let type = typesByExtension[rest.lowercased()] { return type }
        }
        return type(ofMIMEType: "application/octet-stream")
    }

    /// The MIME type of a document with this name; nil: unknown.
    package func mimeType(ofFilename name: String) -> String? {
        database.mimeType(ofFilename: name).map { database.canonical($0) } ?? mimeType(of: type(ofFilename: name))
    }

    func isLiteral(_ name: String) -> Bool { database.isLiteral(name) }

    /// The type of names with this suffix; nil: the suffix does not determine the type.
    func type(ofSuffix suffix: String) -> UniformType? {
        database.mimeType(ofSuffix: suffix).map { type(ofMIMEType: $0) }
    }

    /// The filename extensions of this type and of types that conform to it, sorted.
    public func filenameExtensions(conformingTo type: UniformType) -> [String] {
        Set(typesByExtension.keys).union(database.extensions).filter { suffix in
            self.type(ofSuffix: "." + suffix).map { conforms($0, to: type) }
                ?? typesByExtension[suffix].map { conforms($0, to: type) } ?? false
        }.sorted()
    }

    /// - Parameter mimeType: parameters behind a semicolon are ignored.
    public func type(ofMIMEType mimeType: String) -> UniformType {
        let bare = mimeType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        let canonical = database.canonical(bare)
        // An unknown type is still a document.
        if canonical == "application/octet-stream" { return .dynamic(mimeType: canonical) }
        return typesByMIME[bare] ?? typesByMIME[canonical] ?? .dynamic(mimeType: canonical)
    }

    /// The type that a person or a script names: by an identifier (`public.image`), a MIME type (`image/jpeg`,
    /// `image/*`) or a filename extension (`.jpg`).
    ///
    /// - Returns: nil when the text is none of these, or an unknown extension.
    public func type(named text: String) -> UniformType? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if text.isEmpty || text.contains(where: { $0.isWhitespace }) { return nil }
        if text == "*/*" { return .item }
        if text.contains("/"), !text.lowercased().hasPrefix(UniformType.dynamicPrefix) {
            let parts = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
            return parts[1] == "*" ? Self.topLevel[String(parts[0])] : type(ofMIMEType: text)
        }
        let known = UniformType(text)
        if conformances[known] != nil { return known }
        let suffix = text.hasPrefix(".") ? String(text.dropFirst()) : text
        if text.hasPrefix(".") || !text.contains(".") {
            let found = type(ofFilename: "x." + suffix)
            return found.dynamicMIMEType == "application/octet-stream" ? nil : found
        }
        // An undeclared identifier conforms only to itself.
        return known
    }

    // MARK: Conformance

    /// Whether `type` conforms to `other`. Every type conforms to itself.
    public func conforms(_ type: UniformType, to other: UniformType) -> Bool {
        if type == other { return true }
        var seen: Set<UniformType> = [type]
        var rest = [type]
        while let next = rest.popLast() {
            for parent in parents(of: next) where seen.insert(parent).inserted {
                if parent == other { return true }
                rest.append(parent)
            }
        }
        return false
    }

    /// Whether `type` conforms to one of these; true for an empty list.
    public func conforms(_ type: UniformType, toAnyOf others: [UniformType]) -> Bool {
        others.isEmpty || others.contains { conforms(type, to: $0) }
    }

    /// Whether the table declares the type.
    package func knows(_ type: UniformType) -> Bool { conformances[type] != nil }

    /// The MIME types of all built-in or registered types that conform to this one: for programs that take any type of
    /// a group.
    package func mimeTypes(conformingTo type: UniformType) -> [String] {
        let all = conformances.keys.filter { conforms($0, to: type) }
        return Set(all.compactMap { mimeTypes[$0] }).sorted()
    }

    /// The MIME type of a type; nil: none.
    public func mimeType(of type: UniformType) -> String? { mimeTypes[type] ?? type.dynamicMIMEType }

    private func parents(of type: UniformType) -> [UniformType] {
        if let declared = conformances[type] { return declared }
        guard let mime = type.dynamicMIMEType else { return [] }
        var parents = database.parents(of: mime).map { self.type(ofMIMEType: $0) }.filter { $0 != type }
        if let top = Self.topLevel[String(mime.prefix { $0 != "/" })] { parents.append(top) }
        return mime.hasPrefix("inode/") ? parents + [.item] : parents + [.data, .content]
    }

    private static let topLevel: [String: UniformType] = [
        // By the specification every text/* is a subclass of text/plain.
        "text": UniformType("public.text"), "image": UniformType("public.image"), "audio": UniformType("public.audio"),
        "video": UniformType("public.movie"), "font": UniformType("public.font"),
    ]
}
