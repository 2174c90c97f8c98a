import FileCoordination
import Foundation
import UniformTypes

/// Operations on the file, one after another.
extension Document {
    var isOpen: Bool { !documentState.contains(.closed) }
    var file: DocumentFile {
        DocumentFile(presenter: presenter, mostBytes: mostBytes, changesKind: mayChangeKind)
    }
    var type: UniformType { fileType ?? .data }

    func requireOpen() throws {
        if !isOpen { throw DocumentError(.notOpen, "\(DocumentError.shown(fileURL)): the document is not open") }
    }

    var alreadyOpen: DocumentError {
        DocumentError(.alreadyOpen, "\(DocumentError.shown(fileURL)): the document is open already")
    }

    // MARK: Opening

    func openNow() async throws {
        if isOpen { throw alreadyOpen }
        documentState.insert(.editingDisabled)
        do {
            if let scopedURL {
                fileURL = try await scopedURL.startAccessing()
                hasScope = true
            }
            let path = FilePath.text(fileURL)
            fileURL = FilePath.url(
                try await onThread {
                    let path = FilePath.followingLink(path)
                    DocumentFile.sweep(FilePath.folder(path))
                    return path
                })
            try await present()
            let (loaded, url) = try await reading(fileURL, asksToSave: true)
            fileURL = url
            fileType = try await Self.type(of: url, isFolder: loaded.contents.children != nil)
            try load(fromContents: loaded.contents, ofType: type)
            isNow(loaded)
            watchPackage()
        } catch {
            await releaseFile()
            throw error
        }
        documentState = others.contains(true) ? .editingDisabled : .normal
        await findConflicts()
    }

    static func type(of url: URL, isFolder: Bool) async throws -> UniformType {
        let name = FilePath.name(FilePath.text(url))
        // Off the main actor, because the first use of the table reads it from disk.
        return Self.type(
            try await onThread { UniformTypeTable.system.type(ofFilename: name) }, isFolder: isFolder)
    }

    /// The type of a name; `public.folder` for a folder whose name implies no type.
    private static func type(_ named: UniformType, isFolder: Bool) -> UniformType {
        isFolder && UniformTypeTable.system.mimeType(of: named) == "application/octet-stream" ? .folder : named
    }

    /// Registers as a presenter; from here on nothing is missed. Does nothing outside of mounted domains.
    func present() async throws {
        let presenter = DocumentPresenter(fileURL) { [weak self] in await self?.hear($0) }
        do {
            try await FileCoordinator.addFilePresenter(presenter)
            self.presenter = presenter
        } catch let error as CoordinationError {
            if error.code != .notInADomain { throw error.asDocumentError }
        }
        domain = await DomainLink.find(fileURL)
    }

    /// Downloads missing bytes, and reads the file.
    func reading(_ url: URL, asksToSave: Bool) async throws -> (loaded: LoadedContents, url: URL) {
        defer {
            progress = nil
            documentState.remove(.progressAvailable)
        }
        try await DomainLink.find(url)?.download { [weak self] in await self?.hasCome($0) }
        return try await file.read(url, asksToSave: asksToSave)
    }

    private func hasCome(_ now: DownloadProgress) {
        progress = now
        documentState.insert(.progressAvailable)
        post(.progress(now))
    }

    /// Notes that the contents in memory are those that were read.
    func isNow(_ loaded: LoadedContents) {
        known = loaded.known
        digest = loaded.contents.digest
        fileModificationDate = loaded.known.modified
        (changeCount, savedCount) = (0, 0)
        autosave?.cancel()
        autosave = nil
        lastError = nil
        documentState.remove(.savingError)
    }

    // MARK: Closing

    func releaseFile() async {
        if let presenter { FileCoordinator.removeFilePresenter(presenter) }
        presenter = nil
        domain = nil
        autosave?.cancel()
        autosave = nil
        watch?.cancel()
        watch = nil
        (known, digest, ownVersion, others, isBeingDeleted, isGone) = (nil, nil, nil, [], false, false)
        unresolvedConflictVersions = []
        if hasScope {
            hasScope = false
            await scopedURL?.stopAccessing()
        }
        documentState = .closed
    }

    // MARK: Saving

    func scheduleAutosave(after pause: Duration? = nil) {
        guard let delay = autosaveDelay, autosave == nil, isOpen else { return }
        autosave = Task { [weak self] in
            try? await Task.sleep(for: pause ?? delay)
            if !Task.isCancelled { await self?.saveByItself() }
        }
    }

    private static let leastPauseAfterFailure = Duration.seconds(10)

    func saveByItself() async {
        (saving, autosave) = (autosave, nil)
        defer { saving = nil }
        // Do not make a file anew that somebody deletes.
        if isBeingDeleted || isGone { return }
        do { try await autosaveIfNeeded() } catch is CancellationError {} catch {
            failed(error)
            scheduleAutosave(after: max(autosaveDelay ?? .zero, Self.leastPauseAfterFailure))
        }
    }

    /// Calls `handleError` outside of a turn, because it may use the document.
    func failed(_ error: any Error) {
        lastError = error
        post(.failed(error))
        Task { await handleError(error) }
    }

    /// Saves to the document's file, or in a conflict to its own version.
    func saveNow() async throws {
        try requireOpen()
        let count = changeCount
        let contents = try preparing { try self.contents(forType: self.type) }
        do {
            try contents.check()
            if let own = ownVersion { return try await saveOwnVersion(own, contents, count) }
            let attributes = try fileAttributesToWrite(to: fileURL, for: .forOverwriting)
            switch try await replaceFollowing(contents, attributes) {
            case .saved(let known, let url):
                (self.known, fileURL, fileModificationDate) = (known, url, known.modified)
                isSaved(contents, count)
                await setThumbnail(attributes)
            case .isAnotherVersion:
                try await keepOwnVersion(contents, count)
            }
        } catch {
            if presenter == nil, let error = error as? DocumentError, error.code == .missing {
                // Outside of a mounted domain no presenter message tells of the deletion.
                await releaseFile()
                post(.deleted)
                documentState.insert(.savingError)
                throw DocumentError(
                    .missing, "\(DocumentError.shown(fileURL)): the file is gone; save the document again, or elsewhere"
                )
            }
            documentState.insert(.savingError)
            throw error
        }
    }

    private func saveOwnVersion(_ own: OwnVersion, _ contents: DocumentContents, _ count: Int) async throws {
        do {
            let outcome = try await file.replace(own.url, with: contents, known: own.known, DocumentAttributes())
            if case .saved(let known, let url) = outcome {
                var own = own
                (own.known, own.url) = (known, url)
                ownVersion = own
                return isSaved(contents, count)
            }
        } catch let error as DocumentError where error.code == .missing {}
        // Another program has written into our conflicted copy, or removed it: make another copy.
        try await keepOwnVersion(contents, count)
    }

    private func preparing<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch {
            documentState.insert(.savingError)
            throw error
        }
    }

    /// How long to wait for news of a move, and for a new file at the place, in tenths of a second.
    private static let (patienceForNews, patienceForSuccessor) = (20, 5)

    /// Replaces the file. If it is missing, it may just have been moved, which news will tell; or a program saves by
    /// removing it first.
    private func replaceFollowing(
        _ contents: DocumentContents, _ attributes: DocumentAttributes
    ) async throws -> DocumentFile.Outcome {
        var tries = 0
        while true {
            let url = fileURL
            do { return try await file.replace(url, with: contents, known: known, attributes) } catch let error
                as DocumentError
                where error.code == .missing && !isGone
                && tries < (presenter == nil ? Self.patienceForSuccessor : Self.patienceForNews)
            {
                tries += 1
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    func isSaved(_ contents: DocumentContents, _ count: Int) {
        digest = contents.digest
        savedCount = count
        lastError = nil
        documentState.remove(.savingError)
        autosave?.cancel()
        autosave = nil
        // Save changes that were made meanwhile.
        if hasUnsavedChanges { scheduleAutosave() }
        post(.saved)
    }

    /// Sets the thumbnail after a save, which does not fail with it.
    func setThumbnail(_ attributes: DocumentAttributes) async {
        guard let known else { return }
        do { try await file.setThumbnail(attributes.thumbnail, of: fileURL, known) } catch { failed(error) }
    }

    func saveElsewhere(_ url: URL, _ operation: SaveOperation) async throws {
        if operation == .forOverwriting && !isOpen { try requireOpen() }
        let count = changeCount
        do {
            let named = try await Self.type(of: url, isFolder: false)
            let contents = try self.contents(forType: named)
            try contents.check()
            let newType = Self.type(named, isFolder: contents.children != nil)
            let attributes = try fileAttributesToWrite(to: url, for: operation)
            // The file at the new place is not this document's, so use no presenter.
            let stranger = DocumentFile(presenter: nil, mostBytes: mostBytes, changesKind: mayChangeKind)
            let known: KnownContents
            switch operation {
            case .forCreating: known = try await stranger.create(contents, at: url, attributes)
            case .forOverwriting:
                let outcome = try await stranger.replace(url, with: contents, known: nil, attributes)
                guard case .saved(let new, _) = outcome else { return }
                known = new
            }
            try await isNowElsewhere(url, known, newType)
            isSaved(contents, count)
            await setThumbnail(attributes)
            await findConflicts()
        } catch {
            documentState.insert(.savingError)
            throw error
        }
    }

    private func isNowElsewhere(_ url: URL, _ known: KnownContents, _ type: UniformType) async throws {
        if isOpen { await releaseFile() }
        fileURL = url
        try await present()
        (self.known, fileType, fileModificationDate) = (known, type, known.modified)
        documentState = .normal
        watchPackage()
    }

    func saveBeside() async throws {
        let count = changeCount
        do {
            let contents = try self.contents(forType: type)
            try contents.check()
            let stranger = DocumentFile(presenter: nil, mostBytes: mostBytes)
            let (known, url) = try await stranger.createCopy(contents, beside: scopedURL?.url ?? fileURL)
            try await isNowElsewhere(url, known, type)
            isSaved(contents, count)
            await findConflicts()
        } catch {
            documentState.insert(.savingError)
            throw error
        }
    }
}
