import ControlAPI
import FileCoordination
import Foundation
import MetadataQuery
import UniformTypes

/// What others do with the file, and what becomes of two versions.
extension Document {
    /// Of news from the daemon: what is asked is done when this returns, what is told is done in its turn.
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
            // Who reads and who writes is told the same. Of both, who writes is taken for the last.
            if let index = others.firstIndex(of: false) ?? others.indices.first { others.remove(at: index) }
            inTurn { await $0.lookAtFile() }
        case .changed: inTurn { await $0.lookAtFile() }
        case .conflicts: inTurn { await $0.findConflicts() }
        case .moved(let url):
            // (In a granted folder it keeps its name.)
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

    /// Programs save by removing the file and making it anew.
    private static let patienceForSuccessor = Duration.milliseconds(500)

    /// Nobody waits for it.
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
        tell(.moved(fileURL))
    }

    private static let patienceForKernel = Duration.seconds(1)

    /// Of what is in a folder a presenter hears only what is coordinated; a query has the rest: other programs', and the store's.
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
                self?.inTurn { await $0.lookAtFile() }
                // (The kernel may hear of it after the query does.)
                try? await Task.sleep(for: Self.patienceForKernel)
                self?.inTurn { await $0.lookAtFile() }
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
            return await lookAtFile()
        }
        await letGo()
        tell(.deleted)
    }

    // MARK: Another version

    /// Takes in what somebody else has written, or keeps both.
    func lookAtFile() async {
        defer {
            if !others.contains(true) && !isGone {
                isBeingDeleted = false
                documentState.remove(.editingDisabled)
                // (While it was to be deleted, nothing was saved by itself.)
                if hasUnsavedChanges { scheduleAutosave() }
            }
        }
        guard let known, ownVersion == nil else { return }
        do {
            if try await !file.isAsKnown(fileURL, known) { try await takeIn() }
            failedLooks = 0
        } catch let error as DocumentError where error.code == .missing && presenter != nil {
            // Moved, or deleted: that is told by itself.
        } catch {
            // (Its store may be away, or it is another one again by now.)
            lookAgain()
            failed(error)
        }
    }

    private static let mostDoublings = 6

    private func lookAgain() {
        let pause = Duration.seconds(1 << min(failedLooks, Self.mostDoublings))
        failedLooks += 1
        Task { [weak self] in
            try? await Task.sleep(for: pause)
            self?.inTurn { await $0.lookAtFile() }
        }
    }

    private func takeIn() async throws {
        guard hasUnsavedChanges else {
            let (loaded, _) = try await reading(fileURL, asksToSave: false)
            // (Something may have been changed meanwhile.)
            if hasUnsavedChanges { return try await takeIn() }
            if loaded.contents.digest != digest {
                try load(fromContents: loaded.contents, ofType: type)
                tell(.contentsLoaded)
            }
            return isNow(loaded)
        }
        let theirs = try? await reading(fileURL, asksToSave: false).loaded
        if let theirs, theirs.contents.digest == digest {
            // What this one began with: other dates.
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

    /// What this document has goes beside the file, and is saved there from now on.
    func keepOwnVersion(_ contents: DocumentContents, _ count: Int) async throws {
        try contents.check()
        // (In a granted folder nothing lasts but the document.)
        let beside = hasScope ? scopedURL?.url ?? fileURL : fileURL
        let (known, url) = try await file.createCopy(contents, beside: beside)
        var own = OwnVersion(url: url, known: known)
        do {
            try await domain?.noteConflict(copy: url)
            own.isNoted = domain != nil
        } catch {
            // It is there, and this document knows of it.
            lastError = error
        }
        ownVersion = own
        isSaved(contents, count)
        await findConflicts()
    }

    /// The file's contents are in memory; its own version is one like any other.
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
            // Those that are known stay.
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

    /// Somebody else has ended the conflict: the file is what was chosen.
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
            throw DocumentError(.noConflict, "\(DocumentError.shown(fileURL)): there is no such other version any more")
        }
        guard kept != .mine || chosen.count == 1 else {
            throw DocumentError(
                .noConflict,
                "\(DocumentError.shown(fileURL)): there are \(chosen.count) other versions; say which one is to stay")
        }
        do {
            for version in chosen {
                if version.isOwn, let own = ownVersion {
                    try await resolve(own, kept)
                } else {
                    try await DomainLink.resolve(version.url, keeping: kept)
                    await lookAtFile()
                }
            }
        } catch {
            // (Some may be over.)
            await findConflicts()
            throw error
        }
        await findConflicts()
    }

    /// What somebody else has written into it stays.
    private func remove(_ own: OwnVersion) async throws {
        if try await file.delete(own.url, ifStill: own.known) { return }
        failed(
            DocumentError(
                .refused, "\(DocumentError.shown(own.url)): somebody has written into this conflicted copy; it stays"))
    }

    /// What is to stay is safe before anything is removed.
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
        tell(.contentsLoaded)
        if kept == .theirs {
            try await remove(own)
        } else if own.isNoted {
            try await DomainLink.resolve(own.url, keeping: .both)
        }
    }
}
