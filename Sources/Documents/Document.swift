import ControlAPI
public import FileCoordination
public import Foundation
public import UniformTypes

/// A document that a program shows and edits. A subclass says what its contents are (``contents(forType:)``) and takes them in
/// (``load(fromContents:ofType:)``); everything else is done for it: reading and writing under coordination with other programs,
/// saving by itself, atomically, as the same document of the store; taking in what others write, and keeping both versions where
/// that cannot be.
///
/// It is bound to the main actor, as the views are that show it: the two methods of a subclass see its model without locks, and
/// nothing of the model is used by two threads. Files are never touched there: reading, writing, downloading and waiting for others
/// happens on threads that may block.
///
/// A file that lies in no mounted domain is read and written the same way, but there is nobody who would say what others do with
/// it: another's version is noticed when this one is saved.
///
/// Source: Apple, `UIDocument`.
@MainActor
open class Document {
    // MARK: What it is

    /// Where the document is. It follows the document wherever others move it.
    public internal(set) var fileURL: URL
    /// As the name tells it; nil: it was not opened or saved yet.
    public internal(set) var fileType: UniformType?
    /// When the contents were changed last, in the file; nil: it was not opened or saved yet.
    public internal(set) var fileModificationDate: Date?
    /// How far the download is that ``open()`` or a newer version waits for; nil: none does.
    public internal(set) var progress: DownloadProgress?
    /// Other versions, which are kept beside it until somebody chooses: ``resolveConflict(keeping:of:)``, or `hydrant resolve`.
    public internal(set) var unresolvedConflictVersions: [ConflictVersion] = []
    /// What went wrong last with nobody waiting for it; nil again when that succeeds.
    public internal(set) var lastError: (any Error)?
    /// How it is. ``stateChanges()`` tells of changes.
    public internal(set) var documentState: DocumentState = .closed {
        didSet { if documentState != oldValue { tell(.stateChanged(documentState)) } }
    }

    /// For people: the name without its extension.
    open var localizedName: String {
        DocumentError.shown((FilePath.name(FilePath.text(fileURL)) as NSString).deletingPathExtension)
    }

    // MARK: What a program sets

    /// How long after a change it is saved by itself; nil: only when it is closed, or somebody else wants to read it. Between
    /// 50 ms and an hour.
    public var autosaveDelay: Duration? = .seconds(5) {
        didSet { autosaveDelay = autosaveDelay.map { min(max($0, .milliseconds(50)), .seconds(3_600)) } }
    }

    /// The most that a file, or all files of a package, may have to be loaded; 1 GiB.
    public var mostBytes = 1 << 30

    /// Whether a save may put a file in the place of a folder that is not empty, or a package in the place of a file that is not.
    /// False: that is refused (``DocumentError/Code/exists``), since it takes away what this class may never have looked at.
    public var mayChangeKind = false

    // MARK: Inside

    let scopedURL: SecurityScopedURL?
    var hasScope = false
    var presenter: DocumentPresenter?
    var domain: DomainLink?
    /// What the file had when it was read or written last.
    var known: KnownContents?
    /// Of what is in memory, when that was loaded or saved last.
    var digest: Int?
    /// In a conflict that this document made: the file that has its version, and is saved to.
    var ownVersion: OwnVersion?
    var changeCount = 0
    /// Nil: no count is as in the file.
    var savedCount: Int? = 0
    /// Others who have asked for the file, and are not done: whether they write.
    var others: [Bool] = []
    /// Somebody is going to delete it, or has.
    var isBeingDeleted = false
    var isGone = false
    /// How often in a row another's version could not be taken in.
    var failedLooks = 0
    var autosave: Task<Void, Never>?
    /// The autosave that is being done.
    var saving: Task<Void, Never>?
    /// Of a package: what happens to what is in it.
    var watch: Task<Void, Never>?
    let turns = Turns()
    let listeners = Listeners()

    struct OwnVersion {
        var url: URL
        var known: KnownContents
        /// Since when.
        let moment = Date()
        /// The daemon knows of it.
        var isNoted = false
    }

    /// For a document at this place, or one that is going to be made there. Nothing is looked at yet.
    public init(fileURL: URL) {
        self.fileURL = fileURL
        scopedURL = nil
    }

    /// For a document to which the program was given a right, by a bookmark or the picker. The document starts and stops using it.
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

    /// Where an argument of this program points, by its bytes: a name on Linux need not be UTF-8, as all that `CommandLine.arguments`
    /// can hold. Nil: there are fewer arguments.
    public nonisolated static func fileURL(ofArgument index: Int) -> URL? {
        let all = ByteText.arguments
        return all.indices.contains(index) ? FilePath.url(all[index]) : nil
    }

    // MARK: For subclasses

    /// What is to be in the file now. Called on the main actor when the document is saved; to be overridden.
    ///
    /// - Throws: whatever the subclass likes; then nothing is written, and the document is not saved.
    open func contents(forType type: UniformType) throws -> DocumentContents {
        throw DocumentError(.noContents, "\(Self.self) does not override contents(forType:)")
    }

    /// Takes in what is in the file. Called on the main actor when it is opened, reverted, or another version was written by
    /// somebody else; to be overridden.
    ///
    /// - Throws: whatever the subclass likes; then the document is as it was before.
    open func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        throw DocumentError(.noContents, "\(Self.self) does not override load(fromContents:ofType:)")
    }

    /// What is written besides the contents; nothing, if it is not overridden.
    open func fileAttributesToWrite(to url: URL, for operation: SaveOperation) throws -> DocumentAttributes {
        DocumentAttributes()
    }

    /// Something failed that nobody waited for: an autosave, which is tried again, or loading what somebody else has written. (Who
    /// opens, saves or closes a document gets the error there.) The document goes on when this returns.
    open func handleError(_ error: any Error) async {}

    // MARK: Changes

    /// To be called at each change of the model: what is not saved is saved ``autosaveDelay`` later.
    open func updateChangeCount(_ change: Change) {
        switch change {
        case .done, .redone:
            // What was saved was another branch.
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

    /// Whether there is something in memory only.
    open var hasUnsavedChanges: Bool { changeCount != savedCount }

    // MARK: Open and close

    /// Reads the document and follows it from then on. What is not here is downloaded first (``progress``); others who show it are
    /// asked to save; who writes it is waited for. The task may be cancelled.
    ///
    /// - Throws: ``DocumentError``, `CoordinationError`, `CancellationError`, or what ``load(fromContents:ofType:)`` throws; the
    ///   document is closed then.
    open func open() async throws { try await turns.take { try await self.openNow() } }

    /// Opens the document, and makes it if there is none, whoever else does so at the same time.
    ///
    /// - Returns: whether it was made.
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

    /// Saves what is not saved, and lets go of the file.
    ///
    /// - Parameter savingChanges: false: what is not saved is given up.
    /// - Throws: as ``save(to:for:)``; then the document is open still, unless its file is gone.
    open func close(savingChanges: Bool = true) async throws {
        // (It may wait for others.)
        if !savingChanges { saving?.cancel() }
        try await turns.take {
            guard self.isOpen else { return }
            if savingChanges && self.hasUnsavedChanges {
                // (What is changed while that waits is saved as well.)
                repeat { try await self.saveNow() } while self.isOpen && self.changeCount != self.savedCount
            }
            if !savingChanges { self.updateChangeCount(.cleared) }
            await self.letGo()
        }
    }

    // MARK: Saving

    /// Writes the document. When this returns, it is durable on this machine and others see it; the store follows.
    ///
    /// What replaces a file does so whole or not at all, and is the same document of the store; mode, owner and attributes stay. Of a
    /// package, what has not changed is not written. If somebody else has changed the file meanwhile, that is not overwritten: the
    /// document is ``DocumentState/inConflict`` then, and what it has is saved as a version of its own beside the file.
    ///
    /// - Parameters:
    ///   - url: where to; if that is another place than ``fileURL``, the document is there from then on.
    ///   - operation: `.forCreating` also opens a document that was not.
    /// - Throws: ``DocumentError``, `CoordinationError`, or what ``contents(forType:)`` throws; then the file is as it was, and the
    ///   document is in the state ``DocumentState/savingError``.
    open func save(to url: URL, for operation: SaveOperation) async throws {
        try await turns.take {
            switch operation {
            case .forOverwriting where try await self.isOwnFile(url): try await self.saveNow()
            case .forOverwriting:
                // (A link stays one.)
                let path = FilePath.text(url)
                try await self.saveElsewhere(FilePath.url(onThread { FilePath.followingLink(path) }), operation)
            case .forCreating: try await self.saveElsewhere(url, operation)
            }
        }
    }

    /// Makes the file of a closed document again that is gone, or was never there, and opens the document. If somebody else has the
    /// name by now, it is made beside that under the name of a conflicted copy, and ``fileURL`` is that.
    ///
    /// - Throws: as ``save(to:for:)``.
    open func saveAnew() async throws {
        try await turns.take {
            if self.isOpen { throw self.alreadyOpen }
            do { try await self.saveElsewhere(self.fileURL, .forCreating) } catch let error as DocumentError
                where error.code == .exists
            { try await self.saveBeside() }
        }
    }

    /// However it is spelled: relative, or through links.
    private func isOwnFile(_ url: URL) async throws -> Bool {
        let (one, other) = (FilePath.text(url), FilePath.text(fileURL))
        return try await onThread { one == other || FilePath.canonical(one) == FilePath.canonical(other) }
    }

    /// Saves what is not saved.
    ///
    /// - Throws: as ``save(to:for:)``.
    open func autosaveIfNeeded() async throws {
        try await turns.take {
            guard self.isOpen, self.hasUnsavedChanges else { return }
            try await self.saveNow()
        }
    }

    // MARK: Other places, other versions

    /// Gives up what is not saved, and loads the contents of a file: of its own (``fileURL``), or of another version, which is
    /// a change of this document then.
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
            self.tell(.contentsLoaded)
        }
    }

    /// Gives the document another name, or another folder. It is the same document there; what is not saved stays so.
    ///
    /// - Throws: ``DocumentError/Code/exists``; other ``DocumentError``s and `CoordinationError`s.
    open func move(to url: URL) async throws {
        try await turns.take {
            try self.requireOpen()
            self.fileURL = try await self.file.move(self.fileURL, to: url)
            await self.hasMoved()
        }
    }

    /// Deletes the document, and closes it. Others who show it are asked to make do without.
    ///
    /// - Throws: ``DocumentError``, `CoordinationError`; then it is there, and open.
    open func delete() async throws {
        try await turns.take {
            try self.requireOpen()
            try await self.file.delete(self.fileURL)
            await self.letGo()
        }
    }

    /// Ends a conflict.
    ///
    /// - Parameter version: one of ``unresolvedConflictVersions``; nil: this document's own, else the only one, and of several,
    ///   if none of them is to be the contents, all.
    /// - Throws: ``DocumentError``, `CoordinationError`; nothing of any version is lost then.
    open func resolveConflict(keeping kept: KeptVersion, of version: ConflictVersion? = nil) async throws {
        try await turns.take {
            try self.requireOpen()
            try await self.resolveNow(kept, version)
        }
    }

    // MARK: What happens to it

    /// ``documentState`` as it is, and each time that it is another one.
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

    /// What happens to the document from now on, for as long as it exists. A listener that is slow misses the oldest of more than
    /// 1,000.
    public func notifications() -> AsyncStream<DocumentNotification> { listeners.add() }

    func tell(_ notification: DocumentNotification) { listeners.tell(notification) }
}
