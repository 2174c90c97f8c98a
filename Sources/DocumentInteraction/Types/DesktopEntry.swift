import Foundation

/// Makes the desktop entry of a program.
///
/// Source: freedesktop.org, *Desktop Entry Specification* 1.5.
enum DesktopEntry {
    /// Marks an entry that Hydrant may change and remove.
    static let mark = "X-Hydrant-Registered"
    static let group = "Desktop Entry"
    static let serviceGroup = "D-BUS Service"

    static func text(_ manifest: DocumentTypesManifest, icon: String?, executable: String) -> String {
        let file = KeyFile()
        file.set(group, "Type", "Application")
        file.set(group, "Version", "1.5")
        file.set(group, "Name", manifest.name)
        if let icon { file.set(group, "Icon", icon) }
        let words = [quoted(executable)] + manifest.arguments.map(quoted)
        file.set(group, "Exec", words.joined(separator: " "))
        file.set(group, "TryExec", executable)
        file.set(group, "Terminal", manifest.needsTerminal ? "true" : "false")
        if manifest.busArguments != nil { file.set(group, "DBusActivatable", "true") }
        file.set(group, "MimeType", unique(manifest.documents.flatMap(\.mimeTypes)))
        file.set(group, ProgramFinder.ownerKey, owned(manifest))
        file.set(group, mark, "true")
        return file.text
    }

    /// The D-Bus service file, by which the bus starts the program; nil: the manifest has no arguments for that.
    static func busService(_ manifest: DocumentTypesManifest, executable: String) -> String? {
        guard let arguments = manifest.busArguments else { return nil }
        let file = KeyFile()
        file.set(serviceGroup, "Name", manifest.identifier)
        let words = ([executable] + arguments).map { quoted($0.replacing("%", with: "%%")) }
        // Exec of a service file has no field codes.
        file.set(serviceGroup, "Exec", words.joined(separator: " ").replacing("%%", with: "%"))
        // D-Bus ignores unknown keys.
        file.set(serviceGroup, mark, "true")
        return file.text
    }

    static func owned(_ manifest: DocumentTypesManifest) -> [String] {
        unique(manifest.documents.filter(\.isOwner).flatMap(\.mimeTypes))
    }

    private static func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }

    /// A quoted word of `Exec`. Field codes work only outside of quotes.
    private static func quoted(_ word: String) -> String {
        if word.wholeMatch(of: /[A-Za-z0-9_.,:=@%\/+-]+/) != nil { return word }
        var text = "\""
        for character in word {
            if "\"`$\\".contains(character) { text.append("\\") }
            text.append(character)
        }
        return text + "\""
    }
}
