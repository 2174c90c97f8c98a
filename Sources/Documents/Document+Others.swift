import ControlAPI
import FileCoordination
import Foundation
import MetadataQuery
import UniformTypes

/// Reactions to what others do with the file, and conflicts.
extension Document {
    /// Handles a message of the daemon: carries out a question before it returns, and queues news.
    func hear(_ message: DocumentPresenter.Message) async {
        switch message {
        case .relinquishToReader: others.append(false)
        case .relinquishToWriter:
            others.append(true)
            if isOpen { documentState.insert(.editingDisabled) }
        case .saveChanges:
            guard isOpen else { return }
            do { try await autosaveIfNeeded() } catch { failed(error) }
        case .accommodateDeletion: isBeingDeleted = true
        case .reacquire:
            // The message is the same for readers and writers; take the reader to be done first.
            if let index = others.firstIndex(of: false) ?? others.indices.first { others.remove(at: index) }
            inTurn { await $0.checkFile() }
        case .changed: inTurn { await $0.checkFile() }
        case .conflicts: inTurn { await $0.findConflicts() }
        case .moved(let url):
            // In a granted folder the document keeps its path.
            guard !hasScope else { return }
            fileURL = url
            inTurn { await $0.hasMoved() }
        case .deleted:
            isGone = true
            if isOpen { documentState.insert(.editingDisabled) }
            Task { [weak self] in
                try? await Task.sleep(for: Self.patienceForSuccessor)
                self?.inTurn { await $0.mayBeGone() }
            }
        }
    }

    /// How long to wait for a new file, because programs save by removing the file and making it anew.
    private static let patienceForSuccessor = Duration.milliseconds(500)

    /// Queues a body, without waiting for it.
    private func inTurn(_ body: @escaping @MainActor (Document) async -> Void) {
        Task { [weak self] in
            try? await self?.turns.take { [weak self] in
                if let self, self.isOpen { await body(self) }
            }
        }
    }

    func hasMoved() async {
        fileType = (try? await Self.type(of: fileURL, isFolder: fileType == .folder)) ?? fileType
        domain = await DomainLink.find(fileURL)
        watchPackage()
        post(.moved(fileURL))
    }

    private static let patienceForKernel = Duration.seconds(1)

    /// Follows the items of a package with a query: a presenter hears only of coordinated changes in a folder, not of
    /// other programs' or the store's.
    func watchPackage() {
        watch?.cancel()
        watch = nil
        guard case .package? = known, domain != nil else { return }
        let url = fileURL
        watch = Task { [weak self] in
            let query = MetadataQuery(in: [.items(at: url)])
            query.batchingInterval = .milliseconds(200)
            defer { query.stop() }
            let notifications = query.notifications()
            do { try await query.start() } catch {
                self?.failed(error)
                return
            }
            for await case .updated in notifications {
                self?.inTurn { await $0.checkFile() }
                // The kernel may be told of the change after the query.
                try? await Task.sleep(for: Self.patienceForKernel)
                self?.inTurn { await $0.checkFile() }
            }
        }
    }

    private func mayBeGone() async {
        guard isGone else { return }
        let path = FilePath.text(fileURL)
        let isThere = (try? await onThread { try FileReader.status(path) }) != nil
        if isThere {
            isGone = false
            if let presenter { FileCoordinator.removeFilePresenter(presenter) }
            presenter = nil
            do { try await present() } catch { failed(error) }
            return await checkFile()
        }
        await releaseFile()
        post(.deleted)
    }

    // MARK: Another version

    /// Loads what somebody else has written, or keeps both versions.
    func checkFile() async {
        defer {
            if !others.contains(true) && !isGone {
                isBeingDeleted = false
                documentState.remove(.editingDisabled)
                // Autosaving was suspended while somebody was about to delete the file.
                if hasUnsavedChanges { scheduleAutosave() }
            }
        }
        guard let known, ownVersion == nil else { return }
        do {
            if try await !file.isAsKnown(fileURL, known) { try await takeIn() }
            failedLoads = 0
        } catch let error as DocumentError where error.code == .missing && presenter != nil {
            // Messages of their own tell of a move or a deletion.
        } catch {
            // The store may be away, or the file may have changed again.
            checkFileLater()
            failed(error)
        }
    }

    private static let mostDoublings = 6

    private func checkFileLater() {
        let pause = Duration.seconds(1 << min(failedLoads, Self.mostDoublings))
        failedLoads += 1
        Task { [weak self] in
            try? await Task.sleep(for: pause)
            self?.inTurn { await $0.checkFile() }
        }
    }

    private func takeIn() async throws {
        guard hasUnsavedChanges else {
            let (loaded, _) = try await reading(fileURL, asksToSave: false)
            // The model may have changed during the read.
            if hasUnsavedChanges { return try await takeIn() }
            if loaded.contents.digest != digest {
                try load(fromContents: loaded.contents, ofType: type)
                post(.contentsLoaded)
            }
            return isNow(loaded)
        }
        let theirs = try? await reading(fileURL, asksToSave: false).loaded
        if let theirs, theirs.contents.digest == digest {
            // The contents are those that this document began with; only dates differ.
            known = theirs.known
            return
        }
        let count = changeCount
        let own = try contents(forType: type)
        if let theirs, theirs.contents.digest == own.digest {
            (known, fileModificationDate) = (theirs.known, theirs.known.modified)
            return isSaved(own, count)
        }
        if let theirs { known = theirs.known }
        try await keepOwnVersion(own, count)
    }

    /// Writes this document's version as a conflicted copy beside the file, and saves there from now on.
    func keepOwnVersion(_ contents: DocumentContents, _ count: Int) async throws {
        try contents.check()
        // A copy in a granted folder would not last, so put it beside the document in the domain.
        let beside = hasScope ? scopedURL?.url ?? fileURL : fileURL
        let (known, url) = try await file.createCopy(contents, beside: beside)
        var own = OwnVersion(url: url, known: known)
        do {
            try await domain?.noteConflict(copy: url)
            own.isNoted = domain != nil
        } catch {
            // The copy exists, and this document knows it, even if the daemon does not.
            lastError = error
        }
        ownVersion = own
        isSaved(contents, count)
        await findConflicts()
    }

    /// Returns to the file: its contents are in memory, and the own version becomes one like any other.
    func leaveOwnVersion() async {
        ownVersion = nil
        await findConflicts()
    }

    // MARK: Conflicts

    func findConflicts() async {
        var found: [ConflictVersion] = []
        var isOwnThere = false
        do {
            for conflict in try await domain?.conflicts() ?? [] {
                let isOwn = ownVersion.map { FilePath.text($0.url) == FilePath.text(conflict.copy) } ?? false
                isOwnThere = isOwnThere || isOwn
                found.append(
                    ConflictVersion(
                        url: conflict.copy, moment: conflict.moment, explanation: conflict.explanation, isOwn: isOwn))
            }
        } catch {
            // Keep the known versions.
            return failed(error)
        }
        if let own = ownVersion, !isOwnThere {
            if own.isNoted { return await ownVersionWasChosen() }
            found.append(
                ConflictVersion(
                    url: own.url, moment: own.moment, explanation: "the file was changed while it was edited here",
                    isOwn: true))
        }
        unresolvedConflictVersions = found
        if found.isEmpty { documentState.remove(.inConflict) } else { documentState.insert(.inConflict) }
    }

    /// Handles that somebody else has ended the conflict by choosing this document's version, which is the file now.
    private func ownVersionWasChosen() async {
        ownVersion = nil
        do { try await takeIn() } catch { failed(error) }
        if ownVersion == nil { await findConflicts() }
    }

    func resolveNow(_ kept: KeptVersion, _ version: ConflictVersion?) async throws {
        await findConflicts()
        let all = unresolvedConflictVersions
        var chosen = version.map { version in all.filter { $0.url == version.url } } ?? all
        if version == nil, let own = all.first(where: \.isOwn) { chosen = [own] }
        guard !chosen.isEmpty else {
            throw DocumentError(
                .noConflict, "\(DocumentError.shown(fileURL)): there is no such other version, or no longer")
        }
        guard kept != .mine || chosen.count == 1 else {
            throw DocumentError(
                .noConflict,
                "\(DocumentError.shown(fileURL)): there are \(chosen.count) other versions; choose the one to keep")
        }
        do {
            for version in chosen {
                if version.isOwn, let own = ownVersion {
                    try await resolve(own, kept)
                } else {
                    try await DomainLink.resolve(version.url, keeping: kept)
                    await checkFile()
                }
            }
        } catch {
            // Some conflicts may be resolved.
            await findConflicts()
            throw error
        }
        await findConflicts()
    }

    /// Removes the own version, unless somebody else has written into it.
    private func remove(_ own: OwnVersion) async throws {
        if try await file.delete(own.url, ifStill: own.known) { return }
        failed(
            DocumentError(
                .refused, "\(DocumentError.shown(own.url)): somebody has written into this conflicted copy; it stays"))
    }

    /// Ends a conflict with the own version. Makes the kept version durable before it removes anything.
    private func resolve(_ own: OwnVersion, _ kept: KeptVersion) async throws {
        if kept == .mine {
            let count = changeCount
            let contents = try contents(forType: type)
            try contents.check()
            let attributes = try fileAttributesToWrite(to: fileURL, for: .forOverwriting)
            let outcome = try await file.replace(fileURL, with: contents, known: nil, attributes)
            guard case .saved(let known, let url) = outcome else { return }
            ownVersion = nil
            (self.known, fileURL, fileModificationDate) = (known, url, known.modified)
            isSaved(contents, count)
            await setThumbnail(attributes)
            try await remove(own)
            return
        }
        if kept == .both && hasUnsavedChanges { try await saveNow() }
        let (loaded, _) = try await reading(fileURL, asksToSave: false)
        try load(fromContents: loaded.contents, ofType: type)
        ownVersion = nil
        isNow(loaded)
        post(.contentsLoaded)
        if kept == .theirs {
            try await remove(own)
        } else if own.isNoted {
            try await DomainLink.resolve(own.url, keeping: .both)
        }
    }
}
