import FileProvider
import Glibc
import Logging
import Synchronization

/// A walk through all folders below one, a name at a time. Each folder is opened from its parent, never from the root
/// down; so at most as many are open at once as there are levels (``Seams/deepest``).
struct TreeWalk<Mark> {
    struct Step {
        let folder: Folder
        /// The mark passed when the folder was entered.
        let mark: Mark
        let name: [UInt8]
    }
    private struct Level {
        let folder: Folder
        let mark: Mark
        /// The remaining names, the next one last.
        var names: [[UInt8]]
    }
    private var levels: [Level] = []

    /// Continues with the names in `folder`, and then with the remaining ones.
    mutating func enter(_ folder: Folder, _ mark: Mark, in store: Store) throws(FileProviderError) {
        guard store.mayHoldItems(folder) else { return }
        let names = try folder.names()
        store.sweep(folder, names)
        levels.append(
            Level(folder: folder, mark: mark, names: names.reversed().filter { !OwnName.isOurs($0) }))
    }

    /// Nil at the end.
    mutating func next() -> Step? {
        while let last = levels.indices.last {
            let name = levels[last].names.popLast()
            let level = levels[last]
            // Before folders below it are opened: so a chain of folders keeps only one open.
            if level.names.isEmpty { levels.removeLast() }
            if let name { return Step(folder: level.folder, mark: level.mark, name: name) }
        }
        return nil
    }
}

/// The limit of depth. Finding an item looks at each folder above it, and users who may write to the store can make any
/// number of folders.
extension Store {
    /// Whether the items of this folder are shown.
    func mayHoldItems(_ folder: Folder) -> Bool {
        if folder.components.count < seams.deepest { return true }
        let isNew = hasReportedDepth.withLock { reported in
            defer { reported = true }
            return !reported
        }
        if isNew {
            logger.warning(
                "the store nests folders too deep: their items are not shown",
                metadata: ["folder": "\(folder.path())", "deepest": "\(seams.deepest) names"])
        }
        return false
    }

    /// - Throws: ``FileProviderError/Code/unsupported`` when an item called `name` in `folder` would not be shown.
    func checkDepth(of name: [UInt8], in folder: Folder) throws(FileProviderError) {
        if folder.components.count < seams.deepest { return }
        throw FileProviderError(
            .unsupported, "\(folder.path(of: name)): more than \(seams.deepest) names deep in the store")
    }

    /// Looks at all files below the root, which fills the index.
    ///
    /// - Returns: why some files could not be seen; nil when all were seen.
    func walk() -> FileProviderError? {
        var failure: FileProviderError?
        var walk = TreeWalk<Void>()
        func attempt(_ body: () throws(FileProviderError) -> Void) {
            do throws(FileProviderError) { try body() } catch {
                if !error.saysAbsent { failure = error }
            }
        }
        attempt { () throws(FileProviderError) in try walk.enter(root, (), in: self) }
        while let step = walk.next() {
            attempt { () throws(FileProviderError) in
                guard let entry = try lookUp(step.name, in: step.folder), entry.status.kind == .folder,
                    let folder = try open(step.name, in: step.folder)
                else { return }
                if seams.walkFails {
                    throw FileProviderError(SystemError(number: EACCES, call: "open"), path: folder.path())
                }
                try walk.enter(folder, (), in: self)
            }
        }
        return failure
    }
}
