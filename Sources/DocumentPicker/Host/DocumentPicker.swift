public import FileCoordination
public import Foundation
public import UniformTypes

/// How a picker is shown: in a terminal, in a window, to another program. It shows whole views and says what the user does.
public protocol DocumentPickerFront: Sendable {
    /// Shows this from now on. Called with each change, seldom more than ten times a second; never before it has returned from
    /// the call before.
    func show(_ view: PickerView) async
    /// What the user does; its end is the same as ``PickerAction/cancel``. Asked for once.
    func actions() -> AsyncStream<PickerAction>
    /// The user did something that cannot be done with what is shown. Default: nothing.
    func refused(_ action: PickerAction, _ why: String) async
}

extension DocumentPickerFront {
    /// Nothing.
    public func refused(_ action: PickerAction, _ why: String) async {}
}

/// What a program gets.
public struct PickedDocument: Sendable {
    /// What was done.
    public let mode: DocumentPickerMode
    /// *Import*: the copy. *Open* and *move*: the document, in its domain. *Export*: a sign of success; no access comes with
    /// it.
    public let url: URL
    /// *Open* and *move*: the document with the right to it; nil if none was wanted (``DocumentPicker/givesRight``).
    public internal(set) var scopedURL: SecurityScopedURL?
    /// *Open* and *move*: the reference document in the program's container, if it has one. A document that has one there
    /// with the same right gets no second one.
    public internal(set) var reference: URL?
    /// *Export* and *move*: whether the store has it by now. If not, it is on its way, and survives this program.
    public let isInStore: Bool
}

/// Lets the user choose a document of any provider, or a place for one.
///
/// Source: Apple, `UIDocumentPickerViewController`.
public struct DocumentPicker: Sendable {
    /// The providers and options that it starts with.
    public let menu: DocumentMenu
    /// What to export or to move.
    public let source: URL?
    /// The program's own folder, for reference documents.
    public var container: URL?
    /// The process that the document is for: an imported copy goes when it ends.
    public var owner: Int32 = ProcessInfo.processInfo.processIdentifier
    /// The executable that may use what is opened or moved; nil: whoever has the bookmark.
    public var program: String?
    /// How long the right to what is opened or moved is good; nil: until it is revoked.
    public var until: Date?
    /// Whether a right comes with what is opened or moved. A program that sees the whole domain, and keeps no bookmark, needs none.
    public var givesRight = true
    /// Whether the menu comes first; else the provider that was used last, with a switch to the others.
    public var showsMenu = false
    /// Tries a password for a domain that asks for one, and keeps it if it is right.
    var signsIn: @Sendable (PickerProvider, String) async throws -> Void = { try await SignInCommand.run($0, $1) }

    /// Whom there is to choose from.
    var providers: @Sendable () async -> [PickerProvider] = { await PickerProvider.all().providers }

    /// To import or to open a document of these types; empty: of any.
    ///
    /// - Throws: ``DocumentPickerError`` for another mode.
    public init(_ mode: DocumentPickerMode, types: [UniformType] = []) throws {
        try self.init(menu: DocumentMenu(mode: mode, types: types), source: nil)
    }

    /// To export or to move a document.
    ///
    /// - Throws: ``DocumentPickerError`` for another mode, or if it cannot be read.
    public init(_ mode: DocumentPickerMode, source: URL) throws {
        let type = UniformTypeTable.system.type(ofFilename: source.lastPathComponent)
        try self.init(menu: DocumentMenu(mode: mode, types: [type]), source: source)
    }

    /// With the program's own options. See ``init(_:types:)`` and ``init(_:source:)``.
    public init(menu: DocumentMenu, source: URL?) throws {
        self.menu = menu
        self.source = source
        if menu.mode.choosesDocument {
            guard source == nil else { throw DocumentPickerError("to \(menu.mode.rawValue) there is no source") }
            return
        }
        guard let source else { throw DocumentPickerError("to \(menu.mode.rawValue) there must be a source") }
        let path = source.path(percentEncoded: false)
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw DocumentPickerError("\(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw DocumentPickerError("\(path): is not a document") }
        let folder = (path as NSString).deletingLastPathComponent
        guard menu.mode != .move || access(folder.isEmpty ? "." : folder, W_OK | X_OK) == 0 else {
            throw DocumentPickerError(
                "\(path): cannot be moved: nothing can be removed from its folder; export it instead")
        }
    }

    /// Shows it, and returns when the user has chosen.
    ///
    /// - Returns: nil: the user closed it, or chose an option of the program's. What was begun goes on in the daemon.
    /// - Throws: ``DocumentPickerError`` when nothing can be shown at all.
    public func present(on front: some DocumentPickerFront) async throws -> PickedDocument? {
        try await PickerSession(self, front).run()
    }
}
