import Foundation
import Surroundings

/// The entry by which a desktop starts `hydrant notify` with each session of a user.
///
/// Source: freedesktop.org, *Desktop Application Autostart Specification*, and *Desktop Entry Specification* 1.5.
package struct Autostart: Sendable {
    private let folder: String
    package var path: String { folder + "/org.hydrant.Notify.desktop" }
    /// Tells our entry from one that somebody has written instead.
    private static let mark = "X-Hydrant-Notify=true"

    /// Nil: there is no folder for a user's configuration.
    package init?(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let above = BaseDirectory.configuration.path(in: environment) else { return nil }
        folder = above + "/autostart"
    }

    /// Writes the entry, or brings it up to date.
    ///
    /// - Throws: somebody else's entry is there, or the disk says no.
    package func install(_ executable: String) throws {
        try checkOurs()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Self.entry(executable).utf8).write(to: URL(filePath: path), options: .atomic)
    }

    /// - Returns: false: there is none.
    package func remove() throws -> Bool {
        try checkOurs()
        if unlink(path) == 0 { return true }
        if errno == ENOENT { return false }
        throw NoticeFailure("\(path): \(String(cString: strerror(errno)))")
    }

    private func checkOurs() throws {
        guard let data = FileManager.default.contents(atPath: path) else { return }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        if !lines.contains(Substring(Self.mark)) {
            throw NoticeFailure("\(path): somebody else has written it; remove or rename it, and try again")
        }
    }

    package static func entry(_ executable: String) -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=Hydrant notices
        Name[de]=Mitteilungen von Hydrant
        Comment=What of your mounted documents needs you
        Comment[de]=Was von Ihren eingehängten Dokumenten Sie braucht
        Icon=folder-remote
        Exec=\(word(executable)) notify
        NoDisplay=true
        \(mark)

        """
    }

    /// A word of an Exec line: quoted, then escaped once more as any text of an entry is; % begins a code.
    private static func word(_ text: String) -> String {
        var word = ""
        for character in text {
            switch character {
            case "\"", "`", "$": word += "\\\\" + String(character)
            case "\\": word += "\\\\\\\\"
            case "%": word += "%%"
            case "\n": word += "\\n"
            default: word.append(character)
            }
        }
        return "\"" + word + "\""
    }
}
