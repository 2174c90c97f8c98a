import Foundation
import Synchronization

/// The actions for a document: its programs, preview, copy, print, and the host's own entries.
///
/// Source: Apple, `UIDocumentInteractionController.presentOptionsMenu(from:in:animated:)`.
public final class OptionsMenu: Sendable {
    /// One entry.
    public struct Item: Sendable, Hashable, Identifiable {
        /// The kind of action.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// Opens it in a program.
            case openIn = "open-in"
            /// Shows it.
            case preview
            /// Puts it on the clipboard.
            case copy
            /// Prints it.
            case print
            /// The host's own.
            case custom
        }

        /// Within this menu: `open-in:org.gnome.TextEditor.desktop`, `preview`, `copy`, `print`, or the host's.
        public let id: String
        /// See ``Kind``.
        public let kind: Kind
        /// For people.
        public let title: String
        /// A name of an icon theme, or a path.
        public let icon: String?
    }

    /// The result of an entry.
    public enum Outcome: Sendable {
        /// A program has opened the document.
        case opened(OpenedDocument)
        /// A preview for the host to show.
        case preview(Preview)
        /// The document is on the clipboard.
        case copied
        /// CUPS has the document.
        case printed(PrintJob)
        /// The host's own handler has returned.
        case performed
    }

    /// The menu's document.
    public let controller: DocumentInteractionController
    /// The entries, in order. Empty: nothing can be done with the document.
    public let items: [Item]
    private let programs: [String: OpenInProgram]
    private let handlers: [String: @Sendable () async throws -> Void]

    /// An entry of the host's own.
    public struct Action: Sendable {
        /// Unique in the menu.
        public var id: String
        /// For people.
        public var title: String
        /// A name of an icon theme, or a path.
        public var icon: String?
        /// Called when the user chooses the entry.
        public var handler: @Sendable () async throws -> Void

        /// See the properties.
        public init(
            id: String, title: String, icon: String? = nil, handler: @escaping @Sendable () async throws -> Void
        ) {
            self.id = id
            self.title = title
            self.icon = icon
            self.handler = handler
        }
    }

    init(_ controller: DocumentInteractionController, _ programs: [OpenInProgram], _ actions: [Action]) {
        self.controller = controller
        var items = programs.map { program in
            Item(id: "open-in:\(program.id)", kind: .openIn, title: "Open in \(program.name)", icon: program.icon)
        }
        if controller.previewKind != nil {
            items.append(Item(id: "preview", kind: .preview, title: "Preview", icon: "document-preview"))
        }
        items.append(Item(id: "copy", kind: .copy, title: "Copy", icon: "edit-copy"))
        if controller.canPrint {
            items.append(Item(id: "print", kind: .print, title: "Print", icon: "document-print"))
        }
        let taken = Set(items.map(\.id))
        let own = actions.filter { !taken.contains($0.id) }
        items += own.map { Item(id: $0.id, kind: .custom, title: $0.title, icon: $0.icon) }
        self.items = items
        self.programs = Dictionary(programs.map { ("open-in:\($0.id)", $0) }) { first, _ in first }
        handlers = Dictionary(own.map { ($0.id, $0.handler) }) { first, _ in first }
    }

    /// Performs an entry.
    ///
    /// - Throws: ``DocumentInteractionError``, also when there is no such entry; the errors of the host's handler.
    public func perform(
        _ id: String, progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws -> Outcome {
        if let program = programs[id] { return .opened(try await controller.open(with: program, progress: progress)) }
        if let handler = handlers[id] {
            try await handler()
            return .performed
        }
        switch items.first(where: { $0.id == id })?.kind {
        case .preview: return .preview(try await controller.preview(progress: progress))
        case .copy:
            try await controller.copyToClipboard()
            return .copied
        case .print: return .printed(try await controller.print(progress: progress))
        default:
            throw DocumentInteractionError(.nothingToShow, "\(controller.name): no entry “\(id)” in its menu")
        }
    }
}

extension DocumentInteractionController {
    /// The menu of actions for the document, with the host's own entries at the end. Downloads nothing.
    public func optionsMenu(adding actions: [OptionsMenu.Action] = []) async -> OptionsMenu {
        OptionsMenu(self, await programs(), actions)
    }

    /// The document for a host's own clipboard.
    public var clipboardContents: ClipboardContents {
        ClipboardContents(uriList: (FileURI.text(place.path) ?? "") + "\r\n", text: place.shown)
    }

    /// Puts the document on the desktop's clipboard, from which a file manager pastes a copy. Pasting downloads the
    /// document.
    ///
    /// - Throws: ``DocumentInteractionError``.
    public func copyToClipboard() async throws {
        let contents = clipboardContents
        try await onThread { try Clipboard.set(contents) }
    }
}
