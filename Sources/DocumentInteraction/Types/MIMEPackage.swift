import Foundation
import UniformTypes

/// Makes the package of a program's types for shared-mime-info.
///
/// Source: freedesktop.org, *Shared MIME-info Database* 0.21, "Source files".
enum MIMEPackage {
    /// The installed name of a type's icon.
    static func iconName(_ mimeType: String) -> String { mimeType.replacing("/", with: "-") }

    /// Marks a package that Hydrant may change and remove.
    static let mark = "<!-- hydrant types register -->"

    /// - Parameter icons: names of icons, installed or in themes, by MIME type.
    static func xml(_ manifest: DocumentTypesManifest, icons: [String: String]) -> String {
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", mark,
            "<mime-info xmlns=\"http://www.freedesktop.org/standards/shared-mime-info\">",
        ]
        for type in manifest.declaredTypes {
            lines.append("  <mime-type type=\"\(escaped(type.mimeType))\">")
            lines.append("    <comment>\(escaped(type.name))</comment>")
            if let icon = icons[type.mimeType] { lines.append("    <icon name=\"\(escaped(icon))\"/>") }
            for parent in parents(type) { lines.append("    <sub-class-of type=\"\(escaped(parent))\"/>") }
            // Above the usual 50, because the program was installed for these names.
            for suffix in type.extensions {
                lines.append("    <glob weight=\"60\" pattern=\"*.\(escaped(suffix))\"/>")
            }
            lines.append("  </mime-type>")
        }
        return (lines + ["</mime-info>", ""]).joined(separator: "\n")
    }

    /// The MIME types of the parents that have one; `public.text` becomes `text/plain`.
    static func parents(_ type: DocumentTypesManifest.DeclaredType) -> [String] {
        let table = UniformTypeTable.system
        let mimes = type.conformsTo.compactMap { parent in
            parent == UniformType("public.text") ? "text/plain" : table.mimeType(of: parent)
        }
        var seen: Set<String> = []
        return mimes.filter { $0 != "application/octet-stream" && seen.insert($0).inserted }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    // MARK: Without update-mime-database

    /// Does the work of update-mime-database: adds the types to the existing files, or removes them. Programs read
    /// these files when there is no `mime.cache`.
    static func merge(_ manifest: DocumentTypesManifest, isRegistered: Bool, into folder: String) throws {
        let own = Set(manifest.declaredTypes.map(\.mimeType))
        func update(_ name: String, _ type: (Substring) -> Substring?, _ lines: [String]) throws {
            let path = "\(folder)/\(name)"
            let old = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
            let kept = old.split(separator: "\n").filter { line in
                !(type(line).map { own.contains(String($0)) } ?? false)
            }
            let all = kept.map(String.init) + (isRegistered ? lines : [])
            try Data((all.joined(separator: "\n") + "\n").utf8).write(
                to: URL(filePath: path, directoryHint: .notDirectory), options: .atomic)
        }
        let types = manifest.declaredTypes
        func field(_ separator: Character, _ index: Int) -> (Substring) -> Substring? {
            { line in line.split(separator: separator).dropFirst(index).first }
        }
        try update("types", { $0 }, types.map(\.mimeType))
        try update(
            "subclasses", field(" ", 0), types.flatMap { type in parents(type).map { "\(type.mimeType) \($0)" } })
        try update("globs", field(":", 0), types.flatMap { type in type.extensions.map { "\(type.mimeType):*.\($0)" } })
        try update(
            "globs2", field(":", 1), types.flatMap { type in type.extensions.map { "60:\(type.mimeType):*.\($0)" } })
        try update("icons", field(":", 0), types.map { "\($0.mimeType):\(iconName($0.mimeType))" })
    }
}
