import FileProvider
import Trees

/// Programs that change the trees, another client that changes a ``ModelStore``, and an engine between the two that
/// only applies the rules. The bytes of an inode are one number.
package final class Simulation<Trees: SimulatedTrees> {
    let trees: Trees
    let kinds: SimulatedKinds
    var generator: Generator
    var store = ModelStore()
    let defaults = PlaceholderDefaults(uid: 1_000, gid: 1_000)
    /// The contents that programs have written into each inode.
    private var contents: [InodeID: Int] = [:]
    private var lastContent = 0
    /// Contents that programs have saved and no program has removed since: none may be lost.
    private var owed: Set<Int> = []
    /// Steps that the store has answered, and whose replies have not arrived.
    var underWay: [ItemID: (planned: Planner.Planned, answer: Result<ItemIdentifier?, ModelStore.Refusal>)] = [:]
    /// The events so far, for the message of a failure.
    private var story: [String] = []
    /// The failure; nil: none.
    package private(set) var problem: String?
    /// The number of changes and steps.
    package private(set) var count = 0
    /// Called after each round, when no step is in progress.
    package var afterRound: () throws -> Void = {}

    package init(seed: UInt64, _ kinds: SimulatedKinds, on trees: Trees) throws {
        self.trees = trees
        generator = Generator(state: seed)
        self.kinds = kinds
        _ = try trees.write { try $0.mergeListing(of: .root, [], defaults: defaults) }
    }

    /// Returns the failure, with the events that led to it.
    package func run() throws -> String? {
        do {
            for _ in 0..<5 where problem == nil {
                for _ in 0..<Int.random(in: 1...25, using: &generator) {
                    if kinds.contains(.remote), Int.random(in: 0..<3, using: &generator) == 0 {
                        changeRemotely()
                        if Bool.random(using: &generator) { try listAll() }
                    } else {
                        try change()
                    }
                    if kinds.contains(.lateReplies), Bool.random(using: &generator) { try send(rounds: 1) }
                }
                // Sometimes the next changes come while steps are still waiting.
                try send(rounds: Bool.random(using: &generator) ? 1 : 500)
                try afterRound()
            }
            try settle()
        } catch let refusal as ModelStore.Refusal {
            fail("an illegal step: \(refusal)")
        }
        return problem.map { "\($0)\n\(story.suffix(120).joined(separator: "\n"))" }
    }

    /// Runs until both sides agree, if they ever do.
    private func settle() throws {
        for _ in 0..<20 where problem == nil {
            try trees.settleNow()
            try send(rounds: 500)
            while let id = underWay.keys.min(by: { $0.rawValue < $1.rawValue }) { try reply(to: id) }
            if kinds.contains(.remote) { try listAll() }
            guard problem == nil, try isPendingNothing(), try tree().paths == pathsToShow() else { continue }
            if let lost = owed.subtracting(store.everStored).subtracting(try tree().contents).min() {
                fail("content \(lost) is lost")
            }
            return try afterRound()
        }
        let waiting = try trees.read { try $0.pending(at: .farFuture, limit: 100) }
        fail("here \(try tree().paths), at the store \(store.paths); pending \(waiting.map { Self.show($0) })")
    }

    /// The paths of the store that must be visible here: all except those with the name of an excluded file.
    private func pathsToShow() throws -> [String: Int?] {
        var paths = store.paths
        try trees.read { reader in
            for id in try reader.itemsNotInPlace() {
                guard let row = try reader.item(id), let place = row.remote, let identifier = row.identifier,
                    let folder = try reader.item(place.parent)?.inode,
                    let occupant = try reader.child(of: folder, named: place.name),
                    try reader.item(of: occupant.id)?.isExcluded == true
                else { continue }
                let path = store.path(identifier)
                paths = paths.filter { $0.key != path && !$0.key.hasPrefix(path + "/") }
            }
        }
        return paths
    }

    private func isPendingNothing() throws -> Bool {
        try trees.read { try $0.pending(at: .farFuture, limit: 1).isEmpty && $0.nextMoment(after: trees.now) == nil }
    }

    func fail(_ what: String) { problem = problem ?? what }
    func log(_ what: String) {
        count += 1
        story.append(what)
    }

    // MARK: Checks

    /// The programs' view: the paths that the store must have, all contents, and the enumerated folders.
    private func tree() throws -> (paths: [String: Int?], contents: Set<Int>, folders: [InodeID]) {
        var (paths, all, folders): ([String: Int?], Set<Int>, [InodeID]) = ([:], [], [])
        try trees.read { reader in
            func collect(_ folder: InodeRecord, _ parent: ItemID, _ prefix: String, isStored: Bool) throws {
                if folder.isEnumerated { folders.append(folder.id) }
                for entry in try reader.children(of: folder.id, after: 0, limit: 1_000) {
                    guard let item = try reader.item(of: entry.inode.id) else {
                        fail("\(prefix)/\(entry.name) has no item")
                        continue
                    }
                    let content = content(of: item)
                    if let content { all.insert(content) }
                    let isStored =
                        isStored && !item.isExcluded && item.local == TreePlace(parent: parent, name: entry.name)
                    let path = prefix + "/" + entry.name.string
                    if isStored { paths[path] = .some(entry.inode.isFolder ? nil : content) }
                    if entry.inode.isFolder { try collect(entry.inode, item.id, path, isStored: isStored) }
                }
            }
            try collect(try reader.inode(.root), .root, "", isStored: true)
        }
        return (paths, all, folders.sorted { $0.rawValue < $1.rawValue })
    }

    func content(of item: ItemRecord) -> Int? {
        guard item.kind.isDocument, let inode = item.inode else { return nil }
        if item.identifier != nil, item.contentRevision == 0 {
            return item.baseVersion.flatMap { Int(String(decoding: $0.content.bytes, as: UTF8.self)) }
        }
        return contents[inode]
    }

    static func show(_ one: PendingItem) -> String {
        func show(_ place: TreePlace?) -> String { place.map { "\($0.parent.rawValue)/\($0.name)" } ?? "-" }
        let item = one.item
        return "\(item.id.rawValue) \(item.kind.isFolder ? "folder" : "document") base \(show(item.base))"
            + " local \(show(item.local)) remote \(show(item.remote))"
            + " occupant \(one.occupant?.id.rawValue ?? 0) children \(one.remoteChildren)"
    }

    // MARK: Programs

    private var settleTime: Double {
        kinds.contains(.settling) && Int.random(in: 0..<3, using: &generator) > 0 ? 60 : 0
    }

    private func anyName() -> Filename {
        let names: [Filename] = kinds.contains(.excluded) ? ["a", "b", "c", "a~", "b.bak", ".c.swp"] : ["a", "b", "c"]
        return names.randomElement(using: &generator)!
    }

    func newContent() -> Int {
        lastContent += 1
        return lastContent
    }

    private func change() throws {
        let before = try tree()
        let folder = before.folders.randomElement(using: &generator)!
        let target = before.folders.randomElement(using: &generator)!
        let (name, newName) = (anyName(), anyName())
        let settle = settleTime
        var choices = ["mkdir", "create", "create", "edit", "rmdir", "unlink", "rename", "rename", "rename"]
        if kinds.contains(.links) { choices += ["link", "link"] }
        if kinds.contains(.exchanges) { choices += ["exchange", "exchange"] }
        if kinds.contains(.saves) { choices += ["save over", "backup", "move away", "linked backup"] }
        if kinds.contains(.settling) { choices += ["settle"] }
        let choice = choices.randomElement(using: &generator)!
        do {
            try change(choice, name, folder, newName, target, settle)
            log("\(choice) \(folder.rawValue)/\(name) \(target.rawValue)/\(newName) \(settle)")
        } catch let error as CatalogError {
            // A program's mistake (no such name, or a taken one) is normal.
            if case .system = error.code { throw error }
        }
        // A save of several calls may have stopped half-way.
        let after = try tree().contents
        owed.formUnion(after.subtracting(before.contents))
        owed.subtract(before.contents.subtracting(after))
    }

    private func change(
        _ choice: String, _ name: Filename, _ folder: InodeID, _ newName: Filename, _ target: InodeID, _ settle: Double
    ) throws {
        switch choice {
        case "mkdir":
            _ = try trees.write {
                let file = NewFile(kind: .folder, mode: 0o755, uid: 0, gid: 0)
                return try $0.create(file, in: folder, named: name, settle: 0)
            }
        case "create": try create(name, in: folder, settle)
        case "edit": try edit(name, in: folder, settle)
        case "rmdir": _ = try trees.write { try $0.removeFolder(name, in: folder, settle: settle) }
        case "unlink": try unlink(name, in: folder, settle)
        case "rename":
            let to = try isFolder(name, in: folder) && !kinds.contains(.folderMoves) ? folder : target
            try rename(name, folder, newName, to, settle)
        case "link": try link(name, in: folder, to: newName, in: target)
        case "exchange":
            let moves = try isFolder(name, in: folder) || isFolder(newName, in: target)
            let to = moves && !kinds.contains(.folderMoves) ? folder : target
            try trees.write { try $0.exchange(name, in: folder, with: newName, in: to, settle: settle) }
        case "save over":
            try create("new", in: folder, settle)
            try rename("new", folder, name, folder, settle)
        case "backup":
            // vim: moves the file away, writes it anew, and perhaps removes the backup.
            try rename(name, folder, Filename(name.string + "~"), folder, settle)
            try create(name, in: folder, settle)
            if Bool.random(using: &generator) { try unlink(Filename(name.string + "~"), in: folder, settle) }
        case "move away":
            try rename(name, folder, "old", folder, settle)
            try create(name, in: folder, settle)
            try unlink("old", in: folder, settle)
        case "linked backup":
            try link(name, in: folder, to: Filename(name.string + "~"), in: folder)
            try create("new", in: folder, settle)
            try rename("new", folder, name, folder, settle)
        default: try trees.settleNow()
        }
    }

    private func isFolder(_ name: Filename, in folder: InodeID) throws -> Bool {
        try trees.read { try $0.child(of: folder, named: name) }?.isFolder == true
    }

    private func create(_ name: Filename, in folder: InodeID, _ settle: Double) throws {
        let inode = try trees.write { writer in
            let file = NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0)
            let inode = try writer.create(file, in: folder, named: name, settle: settle)
            try writer.endWriting(inode.id, settle: settle, defaults: defaults)
            return inode.id
        }
        contents[inode] = newContent()
    }

    /// A program truncates a document and writes it again.
    private func edit(_ name: Filename, in folder: InodeID, _ settle: Double) throws {
        guard let inode = try trees.read({ try $0.child(of: folder, named: name) }), !inode.isFolder else { return }
        _ = try trees.write {
            try $0.truncate(inode.id, to: 1, baseSize: 0, extents: nil, mark: nil, settle: settle)
        }
        contents[inode.id] = newContent()
    }

    private func link(_ name: Filename, in folder: InodeID, to newName: Filename, in target: InodeID) throws {
        try trees.write { writer in
            guard let inode = try writer.child(of: folder, named: name) else { return }
            _ = try writer.link(inode.id, to: newName, in: target)
        }
    }

    private func unlink(_ name: Filename, in folder: InodeID, _ settle: Double) throws {
        _ = try trees.write { try $0.unlink(name, in: folder, settle: settle) }
    }

    private func rename(
        _ name: Filename, _ folder: InodeID, _ newName: Filename, _ target: InodeID, _ settle: Double
    ) throws {
        _ = try trees.write {
            try $0.rename(name, in: folder, to: newName, in: target, noReplace: false, settle: settle)
        }
    }
}

/// Events in a simulation besides plain changes of documents.
package struct SimulatedKinds: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let folderMoves = Self(rawValue: 1)
    package static let links = Self(rawValue: 2)
    package static let exchanges = Self(rawValue: 4)
    package static let saves = Self(rawValue: 8)
    package static let excluded = Self(rawValue: 16)
    /// Some changes are not sent at once, so that a save is one change.
    package static let settling = Self(rawValue: 32)
    package static let lateReplies = Self(rawValue: 64)
    /// Another client changes the store.
    package static let remote = Self(rawValue: 128)
    /// The store carries out the request, and its reply is lost.
    package static let lostReplies = Self(rawValue: 256)
    package static let alone: Self = [.folderMoves, .links, .exchanges, .saves, .excluded, .settling, .lateReplies]
    package static let all: Self = [alone, .remote, .lostReplies]
}
