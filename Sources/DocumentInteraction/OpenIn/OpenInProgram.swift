import Foundation

/// A program that opens documents.
public struct OpenInProgram: Sendable, Hashable, Identifiable {
    /// The program's relation to the document's type.
    public enum Rank: String, Sendable, Hashable, Codable {
        /// The user or the system has chosen the program for this type.
        case preferred = "default"
        /// The type is the program's own.
        case owner
        /// The program can also open such documents.
        case alternate
    }

    /// The name of its desktop entry (`org.gnome.TextEditor.desktop`), or the path of an executable that has none.
    public let id: String
    /// The name to show, in the user's language.
    public let name: String
    /// A name of an icon theme, or a path.
    public let icon: String?
    /// See ``Rank``.
    public let rank: Rank
    /// Where the program shows itself.
    let surface: Surface
    /// `Exec` of its desktop entry; empty: D-Bus alone starts it.
    let exec: String
    /// The desktop entry.
    let entry: String?
    /// The working directory to start the program in.
    let folder: String?
    /// Whether documents are opened over D-Bus.
    public let isActivatedOverDBus: Bool

    /// Where a program shows itself.
    enum Surface: String, Sendable {
        /// In windows.
        case window
        /// In a terminal.
        case terminal
        /// Unknown.
        case unknown
    }

    /// Whether the program needs a terminal.
    public var needsTerminal: Bool { surface == .terminal }

    /// Whether the program gets the terminal of a process that offers its own.
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
