import ControlAPI
public import FileCoordination
public import Foundation
public import UniformTypes

/// A document that a program shows and edits. A subclass returns its contents (``contents(forType:)``) and loads them
/// (``load(fromContents:ofType:)``); this class does the rest: it reads and writes under coordination with other
/// programs; it autosaves, atomically, as the same document of the store; it loads what others write, or keeps both
/// versions in a conflict.
///
/// A document is bound to the main actor, like the views that show it, so a subclass needs no locks for its model. It
/// never accesses files there: it reads, writes, downloads and waits for others on threads that may block.
///
/// It reads and writes a file outside of mounted domains in the same way, but gets no news of others there: it notices
/// another program's version when it saves.
///
/// Source: Apple, `UIDocument`.
@MainActor
open class Document {
    // MARK: Properties

    /// The document's place. It follows the document when others move it.
    public internal(set) var fileURL: URL
    /// The type that the name implies; nil: the document was not opened or saved yet.
    public internal(set) var fileType: UniformType?
    /// When the file's contents changed last; nil: the document was not opened or saved yet.
    public internal(set) var fileModificationDate: Date?
    /// The progress of a download for ``open()`` or for a newer version; nil: none runs.
    public internal(set) var progress: DownloadProgress?
    /// Other versions, kept beside the file until somebody chooses: ``resolveConflict(keeping:of:)``, or
    /// `hydrant resolve`.
    public internal(set) var unresolvedConflictVersions: [ConflictVersion] = []
    /// The last error of work that no call waits for; nil when the work has succeeded since.
    public internal(set) var lastError: (any Error)?
    /// The document's state. ``stateChanges()`` reports changes.
    public internal(set) var documentState: DocumentState = .closed {
        didSet { if documentState != oldValue { post(.stateChanged(documentState)) } }
    }

    /// For people: the name without its extension.
    open var localizedName: String {
        DocumentError.shown((FilePath.name(FilePath.text(fileURL)) as NSString).deletingPathExtension)
    }

    // MARK: Settings

    /// The delay between a change and its autosave, 50 ms to an hour; nil: save only when the document is closed, or
    /// somebody else wants to read it.
    public var autosaveDelay: Duration? = .seconds(5) {
        didSet { autosaveDelay = autosaveDelay.map { min(max($0, .milliseconds(50)), .seconds(3_600)) } }
    }

    /// The largest file, or package, that is loaded, in bytes; 1 GiB.
    public var mostBytes = 1 << 30

    /// Whether a save may replace a non-empty folder by a file, or a non-empty file by a package. False: such a save is
    /// refused (``DocumentError/Code/exists``), because it removes contents that this class may never have read.
    public var mayChangeKind = false

    // MARK: Inside

    let scopedURL: SecurityScopedURL?
    var hasScope = false
    var presenter: DocumentPresenter?
    var domain: DomainLink?
    /// The state of the file when it was read or written last.
    var known: KnownContents?
    /// The digest of the contents in memory when these were loaded or saved last.
    var digest: Int?
    /// In a conflict that this document made: the file with its version, to which it saves.
    var ownVersion: OwnVersion?
    var changeCount = 0
    /// The change count of the file's contents; nil: no count matches the file.
    var savedCount: Int? = 0
    /// For each other program that uses the file now: whether it writes.
    var others: [Bool] = []
    /// Somebody is going to delete the file, or has.
    var isBeingDeleted = false
    var isGone = false
    /// The number of failures in a row to load another program's version.
    var failedLoads = 0
    var autosave: Task<Void, Never>?
    /// The running autosave.
    var saving: Task<Void, Never>?
    /// Follows changes in a package.
    var watch: Task<Void, Never>?
    let turns = Turns()
    let listeners = Listeners()

    struct OwnVersion {
        var url: URL
        var known: KnownContents
        /// When the conflict began.
        let moment = Date()
        /// The daemon knows of the conflict.
        var isNoted = false
    }

    /// Makes a document at a place, whether or not the file exists. Does not access the file.
    public init(fileURL: URL) {
        self.fileURL = fileURL
        scopedURL = nil
    }

    /// Makes a document to which the program has a right, by a bookmark or the picker. The document starts and stops
    /// the access.
    public init(scopedURL: SecurityScopedURL) {
        fileURL = scopedURL.url
        self.scopedURL = scopedURL
    }

    deinit {
        autosave?.cancel()
        watch?.cancel()
        if let presenter { FileCoordinator.removeFilePresenter(presenter) }
        listeners.finish()
    }

    /// The place that an argument of this program names, by its bytes: a name on Linux need not be UTF-8, but
    /// `CommandLine.arguments` is. Nil: there are fewer arguments.
    public nonisolated static func fileURL(ofArgument index: Int) -> URL? {
        let all = ByteText.arguments
        return all.indices.contains(index) ? FilePath.url(all[index]) : nil
    }

    // MARK: For subclasses

    /// Returns the contents to save. Called on the main actor; to be overridden.
    ///
    /// - Throws: any error; then nothing is written, and the document is not saved.
    open func contents(forType type: UniformType) throws -> DocumentContents {
        throw DocumentError(.noContents, "\(Self.self) does not override contents(forType:)")
    }

    /// Loads the file's contents. Called on the main actor when the document is opened or reverted, or somebody else
    /// has written another version; to be overridden.
    ///
    /// - Throws: any error; then the document must be as it was before.
    open func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        throw DocumentError(.noContents, "\(Self.self) does not override load(fromContents:ofType:)")
    }

    /// Returns attributes to write besides the contents. Default: none.
    open func fileAttributesToWrite(to url: URL, for operation: SaveOperation) throws -> DocumentAttributes {
        DocumentAttributes()
    }

    /// Handles an error of work that no call waits for: an autosave, which is tried again, or loading what somebody
    /// else has written. (Opening, saving and closing throw their errors.)
    open func handleError(_ error: any Error) async {}

    // MARK: Changes

    /// To be called at each change of the model; the document autosaves ``autosaveDelay`` later.
    open func updateChangeCount(_ change: Change) {
        switch change {
        case .done, .redone:
            // The saved state is on an abandoned branch of undo.
            if change == .done, let saved = savedCount, saved > changeCount { savedCount = nil }
            changeCount += 1
        case .undone: changeCount -= 1
        case .cleared: savedCount = changeCount
        }
        if hasUnsavedChanges {
            scheduleAutosave()
        } else {
            autosave?.cancel()
            autosave = nil
        }
    }

    /// Whether the document has unsaved changes.
    open var hasUnsavedChanges: Bool { changeCount != savedCount }

    // MARK: Open and close

    /// Reads the document and follows it from then on. Downloads missing bytes first (``progress``), asks others who
    /// show the document to save, and waits for a writer. The task may be cancelled.
    ///
    /// - Throws: ``DocumentError``, `CoordinationError`, `CancellationError`, or errors of
    ///   ``load(fromContents:ofType:)``; the
    ///   document is closed then.
    open func open() async throws { try await turns.take { try await self.openNow() } }

    /// Opens the document, and makes it if it does not exist, also while others do the same.
    ///
    /// - Returns: whether this call made it.
    /// - Throws: as ``open()``, and as ``save(to:for:)``.
    @discardableResult
    open func openOrCreate() async throws -> Bool {
        do { try await open() } catch let error as DocumentError where error.code == .missing {
            do {
                try await save(to: fileURL, for: .forCreating)
                return true
            } catch let error as DocumentError where error.code == .exists { try await open() }
        }
        return false
    }

    /// Saves unsaved changes, and closes the document.
    ///
    /// - Parameter savingChanges: false: discard unsaved changes.
    /// - Throws: as ``save(to:for:)``; then the document is still open, unless its file is gone.
    open func close(savingChanges: Bool = true) async throws {
        // A running autosave may be waiting for others.
        if !savingChanges { saving?.cancel() }
        try await turns.take {
            guard self.isOpen else { return }
            if savingChanges && self.hasUnsavedChanges {
                // Changes that are made during the save are saved as well.
                repeat { try await self.saveNow() } while self.isOpen && self.changeCount != self.savedCount
            }
            if !savingChanges { self.updateChangeCount(.cleared) }
            await self.releaseFile()
        }
    }

    // MARK: Saving

    /// Writes the document. When this returns, the document is durable on this machine and others see it; the upload
    /// follows.
    ///
    /// A save replaces the file whole or not at all, as the same document of the store, with mode, owner and
    /// attributes. Unchanged files of a package are not written. A save does not overwrite another program's version:
    /// it makes the document ``DocumentState/inConflict``, and saves to a version of its own beside the file.
    ///
    /// - Parameters:
    ///   - url: the place to save to; the document's ``fileURL`` from then on.
    ///   - operation: `.forCreating` also opens a closed document.
    /// - Throws: ``DocumentError``, `CoordinationError`, or errors of ``contents(forType:)``; then the file is as it
    ///   was, and the
    ///   document is in the state ``DocumentState/savingError``.
    open func save(to url: URL, for operation: SaveOperation) async throws {
        try await turns.take {
            switch operation {
            case .forOverwriting where try await self.isOwnFile(url): try await self.saveNow()
            case .forOverwriting:
                // Save through a symbolic link, which stays.
                let path = FilePath.text(url)
                try await self.saveElsewhere(FilePath.url(onThread { FilePath.followingLink(path) }), operation)
            case .forCreating: try await self.saveElsewhere(url, operation)
            }
        }
    }

    /// Makes the missing file of a closed document, and opens the document. If another file has the name, makes a
    /// conflicted copy beside it, which becomes ``fileURL``.
    ///
    /// - Throws: as ``save(to:for:)``.
    open func recreateFile() async throws {
        try await turns.take {
            if self.isOpen { throw self.alreadyOpen }
            do { try await self.saveElsewhere(self.fileURL, .forCreating) } catch let error as DocumentError
                where error.code == .exists
            { try await self.saveBeside() }
        }
    }

    /// Whether a URL leads to this document's file, also by a relative path or through links.
    private func isOwnFile(_ url: URL) async throws -> Bool {
        let (one, other) = (FilePath.text(url), FilePath.text(fileURL))
        return try await onThread { one == other || FilePath.canonical(one) == FilePath.canonical(other) }
    }

    /// Saves unsaved changes.
    ///
    /// - Throws: as ``save(to:for:)``.
    open func autosaveIfNeeded() async throws {
        try await turns.take {
            guard self.isOpen, self.hasUnsavedChanges else { return }
            try await self.saveNow()
        }
    }

    // MARK: Other places, other versions

    /// Gives up what is not saved, and loads the contents of a file: of its own (``fileURL``), or of another version,
    /// which is a change of this document then.
    ///
    /// - Throws: as ``open()``; then the document is as it was.
    open func revert(toContentsOf url: URL) async throws {
        try await turns.take {
            try self.requireOpen()
            let (loaded, _) = try await self.reading(url, asksToSave: false)
            try self.load(fromContents: loaded.contents, ofType: self.type)
            if try await self.isOwnFile(url) {
                self.isNow(loaded)
                await self.leaveOwnVersion()
            } else {
                self.updateChangeCount(.done)
            }
            self.post(.contentsLoaded)
        }
    }

    /// Moves or renames the document, which stays the same document of the store. Unsaved changes stay unsaved.
    ///
    /// - Throws: ``DocumentError/Code/exists``; other ``DocumentError``s and `CoordinationError`s.
    open func move(to url: URL) async throws {
        try await turns.take {
            try self.requireOpen()
            self.fileURL = try await self.file.move(self.fileURL, to: url)
            await self.hasMoved()
        }
    }

    /// Deletes the document, and closes it. Asks others who show it to accommodate the deletion.
    ///
    /// - Throws: ``DocumentError``, `CoordinationError`; then the document still exists, and is open.
    open func delete() async throws {
        try await turns.take {
            try self.requireOpen()
            try await self.file.delete(self.fileURL)
            await self.releaseFile()
        }
    }

    /// Ends a conflict.
    ///
    /// - Parameter version: one of ``unresolvedConflictVersions``; nil: this document's own version, otherwise the only
    ///   one; of
    ///   several, all, unless one would have to become the contents.
    /// - Throws: ``DocumentError``, `CoordinationError`; then no version is lost.
    open func resolveConflict(keeping kept: KeptVersion, of version: ConflictVersion? = nil) async throws {
        try await turns.take {
            try self.requireOpen()
            try await self.resolveNow(kept, version)
        }
    }

    // MARK: Notifications

    /// The present ``documentState``, then each new one.
    public func stateChanges() -> AsyncStream<DocumentState> {
        let notifications = self.notifications()
        let first = documentState
        return AsyncStream { continuation in
            continuation.yield(first)
            let task = Task {
                for await case .stateChanged(let state) in notifications { continuation.yield(state) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Notifications from now on, for as long as the document exists. A listener with more than 1,000 pending
    /// notifications misses the oldest.
    public func notifications() -> AsyncStream<DocumentNotification> { listeners.add() }

    func post(_ notification: DocumentNotification) { listeners.post(notification) }
}
