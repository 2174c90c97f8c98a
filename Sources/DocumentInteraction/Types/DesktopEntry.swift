import Foundation

/// The desktop entry that a program gets.
///
/// Source: freedesktop.org, *Desktop Entry Specification* 1.5.
enum DesktopEntry {
    /// Says that an entry is ours to change and to remove.
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

    /// What starts it when somebody asks for its name.
    static func busService(_ manifest: DocumentTypesManifest, executable: String) -> String? {
        guard let arguments = manifest.busArguments else { return nil }
        let file = KeyFile()
        file.set(serviceGroup, "Name", manifest.identifier)
        let words = ([executable] + arguments).map { quoted($0.replacing("%", with: "%%")) }
        // (D-Bus has no codes in it.)
        file.set(serviceGroup, "Exec", words.joined(separator: " ").replacing("%%", with: "%"))
        // (Keys that it does not know it passes over.)
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

    /// A word of `Exec`. Codes stand for what they stand for only outside of quotes.
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
