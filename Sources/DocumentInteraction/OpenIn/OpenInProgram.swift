import Foundation

/// A program that opens documents.
public struct OpenInProgram: Sendable, Hashable, Identifiable {
    /// What it says of the document's type.
    public enum Rank: String, Sendable, Hashable, Codable {
        /// The user, or the system, has chosen it for this type.
        case preferred = "default"
        /// The type is the program's own.
        case owner
        /// It can open such documents as well.
        case alternate
    }

    /// The name of its desktop entry (`org.gnome.TextEditor.desktop`), or the path of an executable that has none.
    public let id: String
    /// As the user knows it, in his language.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// See ``Rank``.
    public let rank: Rank
    /// Where it runs.
    let surface: Surface
    /// `Exec` of its desktop entry; empty: D-Bus alone starts it.
    let exec: String
    /// The desktop entry.
    let entry: String?
    /// Where it wants to be started.
    let folder: String?
    /// Whether it is asked over D-Bus.
    public let isActivatedOverDBus: Bool

    /// Where a program shows itself.
    enum Surface: String, Sendable {
        /// It has windows.
        case window
        /// It needs a terminal.
        case terminal
        /// Nobody has said.
        case unknown
    }

    /// Whether it needs a terminal.
    public var needsTerminal: Bool { surface == .terminal }

    /// Whether it gets the terminal of a process that offers its own.
    public var isShownInTerminal: Bool { surface != .window && !isActivatedOverDBus }
}

extension OpenInProgram {
    func ranked(_ rank: Rank) -> Self {
        OpenInProgram(
            id: id, name: name, icon: icon, rank: rank, surface: surface, exec: exec, entry: entry, folder: folder,
            isActivatedOverDBus: isActivatedOverDBus)
    }

    /// An executable without a desktop entry.
    init(executable path: String) {
        let quoted = path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("%", with: "%%")
            .replacing("$", with: "\\$").replacing("`", with: "\\`")
        self.init(
            id: path, name: (path as NSString).lastPathComponent, icon: nil, rank: .alternate, surface: .unknown,
            exec: "\"\(quoted)\" %f", entry: nil, folder: nil, isActivatedOverDBus: false)
    }
}
