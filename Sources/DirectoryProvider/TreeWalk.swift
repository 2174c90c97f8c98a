import FileProvider
import Glibc
import Logging
import Synchronization

/// A walk through all folders below one, a name at a time. Each folder is opened in the one above it, never from the root
/// down; so as many are open at once as there are levels, of which ``Seams/deepest`` is the most.
struct TreeWalk<Mark> {
    struct Step {
        let folder: Folder
        /// What was given for the folder when it was entered.
        let mark: Mark
        let name: [UInt8]
    }
    private struct Level {
        let folder: Folder
        let mark: Mark
        /// Those still to come, the next one last.
        var names: [[UInt8]]
    }
    private var levels: [Level] = []

    /// The names in `folder` come next, and then what is left of the others.
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
            // Before what is below it is opened: a chain of folders keeps only one open.
            if level.names.isEmpty { levels.removeLast() }
            if let name { return Step(folder: level.folder, mark: level.mark, name: name) }
        }
        return nil
    }
}

/// How deep the store may be. The way to an item takes a look at each folder above it, and whoever may write to the store
/// can make any number of them.
extension Store {
    /// Whether what is in this folder is shown.
    func mayHoldItems(_ folder: Folder) -> Bool {
        if folder.components.count < seams.deepest { return true }
        let isNew = hasToldDepth.withLock { told in
            defer { told = true }
            return !told
        }
        if isNew {
            logger.warning(
                "the store has folders too deep in others: what is in them is not shown",
                metadata: ["folder": "\(folder.path())", "deepest": "\(seams.deepest) names"])
        }
        return false
    }

    /// - Throws: ``FileProviderError/Code/unsupported`` when what is called `name` in `folder` would not be shown.
    func checkDepth(of name: [UInt8], in folder: Folder) throws(FileProviderError) {
        if folder.components.count < seams.deepest { return }
        throw FileProviderError(
            .unsupported, "\(folder.path(of: name)): more than \(seams.deepest) names deep in the store")
    }

    /// Looks at everything below the root, which fills the index.
    ///
    /// - Returns: why not everything could be seen; nil when everything was.
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
                guard let entry = try look(at: step.name, in: step.folder), entry.status.kind == .folder,
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
