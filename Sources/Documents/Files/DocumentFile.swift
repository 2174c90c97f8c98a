import FileCoordination
import Foundation

/// Reads and writes the file of a document under coordination, off every actor.
struct DocumentFile: Sendable {
    let presenter: DocumentPresenter?
    let mostBytes: Int
    /// Whether a file may take the place of a package that is not empty, and the reverse.
    var changesKind = false

    private var coordinator: FileCoordinator {
        presenter.map { FileCoordinator(filePresenter: $0) } ?? FileCoordinator()
    }

    /// How long to retry after deadlocks; longer than the daemon waits for a presenter that does not answer.
    private static let patienceInDeadlocks = Duration.seconds(60)

    /// Coordinates an access. Outside of mounted domains there is no daemon, so the access is not coordinated.
    private func coordinate<T: Sendable>(
        _ intents: [FileAccessIntent], _ body: @escaping @Sendable ([String]) throws -> T
    ) async throws -> T {
        let deadline = ContinuousClock.now + Self.patienceInDeadlocks
        while true {
            do {
                return try await coordinator.coordinate(with: intents) { granted in
                    let paths = granted.map { FilePath.text($0.url) }
                    return try await onThread { try body(paths) }
                }
            } catch let error as CoordinationError where error.code == .notInADomain {
                let paths = intents.map { FilePath.text($0.url) }
                return try await onThread { try body(paths) }
            } catch let error as CoordinationError where error.code == .cancelled {
                throw CancellationError()
            } catch let error as CoordinationError
                where error.code == .wouldDeadlock && .now < deadline
                && FileCoordinator.heldClaims.isEmpty
            {
                // Holding nothing, we block nobody; the programs that wait for each other will be done soon.
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...400)))
            } catch let error as CoordinationError {
                throw error.asDocumentError
            }
        }
    }

    // MARK: Reading

    /// - Parameter asksToSave: ask others who show the document to save first.
    /// - Returns: the contents, and the file's place by then.
    func read(_ url: URL, asksToSave: Bool) async throws -> (loaded: LoadedContents, url: URL) {
        let intent = FileAccessIntent.readingIntent(with: url, options: asksToSave ? [] : .withoutChanges)
        return try await coordinate([intent]) { paths in
            (try FileReader.read(paths[0], mostBytes: mostBytes), FilePath.url(paths[0]))
        }
    }

    /// - Throws: ``DocumentError/Code/missing``.
    func isAsKnown(_ url: URL, _ known: KnownContents) async throws -> Bool {
        try await onThread { try FileReader.isAsKnown(FilePath.text(url), known) }
    }

    // MARK: Writing

    enum Outcome: Sendable {
        case saved(KnownContents, URL)
        /// Somebody else has changed the file since; nothing was written.
        case isAnotherVersion
    }

    /// Makes a file, or a package.
    func create(_ contents: DocumentContents, at url: URL, _ attributes: DocumentAttributes) async throws
        -> KnownContents
    {
        try await coordinate([.writingIntent(with: url)]) { paths in try Self.make(contents, at: paths[0], attributes) }
    }

    /// - Parameter known: the state that the file must have, otherwise nothing is written; nil: any.
    /// - Throws: ``DocumentError/Code/missing``.
    func replace(
        _ url: URL, with contents: DocumentContents, known: KnownContents?, _ attributes: DocumentAttributes
    ) async throws -> Outcome {
        try await coordinate([.writingIntent(with: url)]) { paths in
            let path = paths[0]
            var known = known
            for _ in 0..<Self.mostAttempts {
                if let before = known, try !FileReader.isAsKnown(path, before) {
                    // A file with another date but the same contents is no other version.
                    guard let now = try? FileReader.read(path, mostBytes: mostBytes), now.known.hasContents(of: before)
                    else { break }
                    known = now.known
                }
                do {
                    return .saved(try put(contents, over: path, known, attributes), FilePath.url(path))
                } catch is AnotherVersion { continue }
            }
            return .isAnotherVersion
        }
    }

    private static let mostAttempts = 5

    private func put(
        _ contents: DocumentContents, over path: String, _ known: KnownContents?, _ attributes: DocumentAttributes
    ) throws -> KnownContents {
        let isFolder = FileReader.isFolder(try FileReader.status(path))
        switch contents {
        case .data(let data) where !isFolder:
            return try FileWriter(attributes: attributes).replace(path, with: data, known: known)
        case .package(let children) where isFolder:
            return try PackageWriter.replace(path, with: children, known: known, attributes)
        default:
            if !changesKind, try !FileReader.isEmpty(path) {
                let (there, new) = isFolder ? ("a folder with files in it", "a file") : ("a file", "a folder")
                throw DocumentError(
                    .exists,
                    "\(DocumentError.shown(path)): is \(there), which is not replaced by \(new); choose another name, or remove it first"
                )
            }
            return try PackageWriter.exchange(path, with: contents, known: known, attributes)
        }
    }

    // MARK: Pictures

    /// Sets the document's thumbnail, if the document still has these contents.
    ///
    /// - Throws: why the thumbnail was not kept; nothing when somebody else has changed the document since.
    func setThumbnail(_ thumbnail: DocumentAttributes.Thumbnail?, of url: URL, _ known: KnownContents) async throws {
        guard let thumbnail, case .file(let stamp, _) = known else { return }
        let (contents, picture) = try await onThread {
            let contents = try DocumentThumbnails.Contents(of: url)
            // The file is not the saved one any more.
            guard try FileStamp(FileReader.status(FilePath.text(url))) == stamp else { return (contents, Data?.none) }
            switch thumbnail {
            case .png(let data): return (contents, data)
            case .file(let file):
                let path = FilePath.text(file)
                let loaded = try FileReader.read(path, mostBytes: DocumentThumbnails.bytes).contents
                guard let data = loaded.data else {
                    throw DocumentError(.unreadable, "\(DocumentError.shown(path)): a folder, not a picture")
                }
                return (contents, data)
            }
        }
        guard let picture else { return }
        do { try await DocumentThumbnails.set(picture, of: url, contents: contents) } catch let error
            as CoordinationError
            where error.code == .otherContents || error.code == .notInADomain
        {}
    }

    private static func make(
        _ contents: DocumentContents, at path: String, _ attributes: DocumentAttributes
    ) throws -> KnownContents {
        switch contents {
        case .data(let data): try FileWriter(attributes: attributes).create(data, at: path)
        case .package(let children): try PackageWriter.create(children, at: path, attributes)
        }
    }

    private static let mostCopies = 1_000

    /// Makes a file beside another, under the name of a conflicted copy.
    func createCopy(_ contents: DocumentContents, beside url: URL) async throws -> (known: KnownContents, url: URL) {
        for number in 1...Self.mostCopies {
            let copy = FilePath.url(FilePath.conflictedCopy(of: FilePath.text(url), number: number))
            do { return (try await create(contents, at: copy, DocumentAttributes()), copy) } catch let error
                as DocumentError
                where error.code == .exists
            { continue }
        }
        throw DocumentError(.exists, "\(DocumentError.shown(url)): has too many conflicted copies; resolve some")
    }

    // MARK: Places

    /// - Returns: the new place.
    func move(_ url: URL, to target: URL) async throws -> URL {
        let intents: [FileAccessIntent] = [
            .writingIntent(with: url, options: .forMoving), .writingIntent(with: target),
        ]
        return try await coordinate(intents) { paths in
            guard FilePath.moveNew(paths[0], to: paths[1]) == 0 else {
                if errno == EXDEV {
                    throw DocumentError(
                        .unwritable,
                        "\(DocumentError.shown(paths[1])): on another disk, or in another domain; save the document there, "
                            + "then delete it here")
                }
                throw FileWriter.failure(paths[1])
            }
            return FilePath.url(paths[1])
        }
    }

    func delete(_ url: URL) async throws {
        try await coordinate([.writingIntent(with: url, options: .forDeleting)]) { try FilePath.remove($0[0]) }
    }

    /// Deletes a file if it is unchanged since it was written. A missing file counts as deleted.
    ///
    /// - Returns: false: somebody has written the file since, and it still exists.
    func delete(_ url: URL, ifStill known: KnownContents) async throws -> Bool {
        do {
            return try await coordinate([.writingIntent(with: url, options: .forDeleting)]) { paths in
                let path = paths[0]
                if try !FileReader.isAsKnown(path, known),
                    try !FileReader.read(path, mostBytes: mostBytes).known.hasContents(of: known)
                {
                    return false
                }
                try FilePath.remove(path)
                return true
            }
        } catch let error as DocumentError where error.code == .missing { return true }
    }

    private static let mostSecondsOfASave = 86_400

    /// Removes leftover files of this user's killed programs in a folder. (In a mount the daemon does that.)
    static func sweep(_ folder: String, olderThan seconds: Int = mostSecondsOfASave) {
        guard !FilePath.isInMount(FilePath.child(folder, ".")), let names = try? FilePath.names(in: folder) else {
            return
        }
        for name in names where name.hasPrefix(FilePath.temporaryPrefix) {
            let path = FilePath.child(folder, name)
            guard let status = try? FileReader.status(path), status.st_uid == geteuid(),
                time(nil) - status.st_ctim.tv_sec > seconds
            else { continue }
            try? FilePath.remove(path)
        }
    }
}

extension KnownContents {
    /// Whether the contents are equal, regardless of dates.
    fileprivate func hasContents(of other: KnownContents) -> Bool {
        switch (self, other) {
        case (.file(_, let one), .file(_, let two)): one == two
        case (.package(let one), .package(let two)):
            one.count == two.count
                && one.allSatisfy { name, child in two[name].map { child.hasContents(of: $0) } ?? false }
        default: false
        }
    }
}
