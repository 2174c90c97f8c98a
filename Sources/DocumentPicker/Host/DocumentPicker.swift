public import FileCoordination
public import Foundation
public import UniformTypes

/// Shows a picker: in a terminal, in a window, or to another program. A front shows whole views, and reports the user's
/// actions.
public protocol DocumentPickerFront: Sendable {
    /// Shows a view in place of the one before. Called for each change, seldom more than ten times a second, and only
    /// when the call before has returned.
    func show(_ view: PickerView) async
    /// The user's actions; their end means ``PickerAction/cancel``. Called once.
    func actions() -> AsyncStream<PickerAction>
    /// Reports an action that is not possible with the view shown. Default: does nothing.
    func refused(_ action: PickerAction, _ why: String) async
}

extension DocumentPickerFront {
    /// Does nothing.
    public func refused(_ action: PickerAction, _ why: String) async {}
}

/// The result that a program gets.
public struct PickedDocument: Sendable {
    /// The mode.
    public let mode: DocumentPickerMode
    /// *Import*: the copy. *Open* and *move*: the document in its domain. *Export*: only a sign of success, without
    /// access.
    public let url: URL
    /// *Open* and *move*: the document with the right to it; nil without ``DocumentPicker/givesRight``.
    public internal(set) var scopedURL: SecurityScopedURL?
    /// *Open* and *move*: the reference document in the program's container. A document that has one there with the
    /// same right gets no second one.
    public internal(set) var reference: URL?
    /// *Export* and *move*: whether the store has the document already. Otherwise its upload goes on, also without this
    /// program.
    public let isInStore: Bool
}

/// Lets the user choose a document of any provider, or a place for one.
///
/// Source: Apple, `UIDocumentPickerViewController`.
public struct DocumentPicker: Sendable {
    /// The providers and options to choose from.
    public let menu: DocumentMenu
    /// The document to export or to move.
    public let source: URL?
    /// The program's own folder, for reference documents.
    public var container: URL?
    /// The process that the document is for; when it ends, an imported copy is removed.
    public var owner: Int32 = ProcessInfo.processInfo.processIdentifier
    /// The executable that may use the right to the document; nil: any program with the bookmark.
    public var program: String?
    /// When the right to the document ends; nil: when it is revoked.
    public var until: Date?
    /// Whether *open* and *move* give a right. A program that sees the whole domain, and keeps no bookmark, needs none.
    public var givesRight = true
    /// Whether the picker begins with the menu; otherwise it begins with the provider used last, and a way to the
    /// others.
    public var showsMenu = false
    /// Tries a password for a domain that asks for one, and keeps it if it works.
    var signsIn: @Sendable (PickerProvider, String) async throws -> Void = { try await SignInCommand.run($0, $1) }

    /// The providers to choose from.
    var providers: @Sendable () async -> [PickerProvider] = { await PickerProvider.all().providers }

    /// Imports or opens a document of these types; empty: of any type.
    ///
    /// - Throws: ``DocumentPickerError`` for another mode.
    public init(_ mode: DocumentPickerMode, types: [UniformType] = []) throws {
        try self.init(menu: DocumentMenu(mode: mode, types: types), source: nil)
    }

    /// Exports or moves a document.
    ///
    /// - Throws: ``DocumentPickerError`` for another mode, or if the document cannot be read.
    public init(_ mode: DocumentPickerMode, source: URL) throws {
        let type = UniformTypeTable.system.type(ofFilename: source.lastPathComponent)
        try self.init(menu: DocumentMenu(mode: mode, types: [type]), source: source)
    }

    /// Offers the program's own options as well. See ``init(_:types:)`` and ``init(_:source:)``.
    public init(menu: DocumentMenu, source: URL?) throws {
        self.menu = menu
        self.source = source
        if menu.mode.choosesDocument {
            guard source == nil else { throw DocumentPickerError("\(menu.mode.rawValue) takes no source") }
            return
        }
        guard let source else { throw DocumentPickerError("\(menu.mode.rawValue) needs a source") }
        let path = source.path(percentEncoded: false)
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw DocumentPickerError("\(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw DocumentPickerError("\(path): not a document") }
        let folder = (path as NSString).deletingLastPathComponent
        guard menu.mode != .move || access(folder.isEmpty ? "." : folder, W_OK | X_OK) == 0 else {
            throw DocumentPickerError(
                "\(path): cannot be moved, because its folder is not writable; export it instead")
        }
    }

    /// Shows the picker, and returns when the user has chosen.
    ///
    /// - Returns: nil: the user closed the picker, or chose an option of the program's. Transfers go on in the daemon.
    /// - Throws: ``DocumentPickerError`` when there is nothing to show.
    public func present(on front: some DocumentPickerFront) async throws -> PickedDocument? {
        try await PickerSession(self, front).run()
    }
}
