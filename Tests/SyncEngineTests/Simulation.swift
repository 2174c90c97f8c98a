import FileProvider
import ItemCatalog
import Testing

@testable import SyncEngine

/// Always the same numbers for one seed.
struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &+ 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// Programs at work in a catalog, the planner, and a ``ModelStore``. What an inode's bytes are is one number.
final class Simulation {
    struct Kinds: OptionSet {
        let rawValue: Int
        static let folderMoves = Kinds(rawValue: 1)
        static let links = Kinds(rawValue: 2)
        static let exchanges = Kinds(rawValue: 4)
        static let saves = Kinds(rawValue: 8)
        static let excluded = Kinds(rawValue: 16)
        /// Some changes are not sent at once, so that a save is one change.
        static let settling = Kinds(rawValue: 32)
        static let lateReplies = Kinds(rawValue: 64)
        static let all: Kinds = [.folderMoves, .links, .exchanges, .saves, .excluded, .settling, .lateReplies]
    }

    private let test: TestEngine
    private let kinds: Kinds
    private var generator: Generator
    private var model = ModelStore()
    private var contents: [InodeID: Int] = [:]
    private var lastContent = 0
    /// Steps that the store has taken and whose replies have not come.
    private var underWay: [ItemID: (planned: Planner.Planned, reply: ItemIdentifier?)] = [:]
    /// What has happened, for a failure's message.
    private var story: [String] = []
    private let version = ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1"))

    init(seed: UInt64, _ kinds: Kinds) throws {
        test = try TestEngine()
        generator = Generator(state: seed)
        self.kinds = kinds
        _ = try test.catalog.write { try $0.mergeListing(of: .root, [], defaults: test.context.defaults) }
    }

    func run() throws {
        do {
            for _ in 0..<5 {
                for _ in 0..<Int.random(in: 1...25, using: &generator) {
                    try change()
                    if kinds.contains(.lateReplies), Bool.random(using: &generator) { try send(rounds: 1) }
                }
                // Sometimes the next changes come while some steps are still to be taken.
                try send(rounds: Bool.random(using: &generator) ? 1 : 500)
            }
            try test.catalog.write { try $0.settleNow(retrying: true) }
            try send(rounds: 500)
            while let id = underWay.keys.min(by: { $0.rawValue < $1.rawValue }) { try reply(to: id) }
            try send(rounds: 500)
            #expect(try test.pending() == [])
            let (local, remote) = (try localPaths(), model.paths)
            if local != remote { tell("here \(local), at the store \(remote)") }
        } catch let error as ModelStore.Illegal {
            tell("an illegal step: \(error)")
        }
    }

    private func tell(_ what: String) { Issue.record("\(what)\n\(story.suffix(60).joined(separator: "\n"))") }

    // MARK: Programs

    private var settle: Double { kinds.contains(.settling) && Int.random(in: 0..<3, using: &generator) > 0 ? 60 : 0 }

    private func anyFolder() throws -> InodeID {
        try test.catalog.read { try $0.enumeratedFolders() }.randomElement(using: &generator)!
    }

    private func anyName() -> Filename {
        let names: [Filename] = kinds.contains(.excluded) ? ["a", "b", "c", "a~", "b.bak", ".c.swp"] : ["a", "b", "c"]
        return names.randomElement(using: &generator)!
    }

    private func change() throws {
        let (folder, target) = (try anyFolder(), try anyFolder())
        let (name, newName) = (anyName(), anyName())
        let settle = settle
        var choices = ["mkdir", "create", "create", "edit", "rmdir", "unlink", "rename", "rename", "rename"]
        if kinds.contains(.links) { choices += ["link", "link"] }
        if kinds.contains(.exchanges) { choices += ["exchange", "exchange"] }
        if kinds.contains(.saves) { choices += ["save over", "backup", "move away", "linked backup"] }
        if kinds.contains(.settling) { choices += ["settle"] }
        let choice = choices.randomElement(using: &generator)!
        do {
            try change(choice, name, folder, newName, target, settle)
            story.append("\(choice) \(folder.rawValue)/\(name) \(target.rawValue)/\(newName) \(settle)")
        } catch let error as CatalogError {
            // A program's mistake (no such name, a taken one): part of life.
            if case .system = error.code { throw error }
        }
    }

    private func change(
        _ choice: String, _ name: Filename, _ folder: InodeID, _ newName: Filename, _ target: InodeID, _ settle: Double
    ) throws {
        switch choice {
        case "mkdir": try test.makeFolder(name, in: folder)
        case "create": try create(name, in: folder, settle)
        case "edit": try edit(name, in: folder, settle)
        case "rmdir": _ = try test.catalog.write { try $0.removeFolder(name, in: folder, settle: settle) }
        case "unlink": _ = try test.catalog.write { try $0.unlink(name, in: folder, settle: settle) }
        case "rename":
            let to = try isFolder(name, in: folder) && !kinds.contains(.folderMoves) ? folder : target
            try rename(name, folder, newName, to, settle)
        case "link":
            try test.catalog.write { writer in
                guard let inode = try writer.child(of: folder, named: name) else { return }
                _ = try writer.link(inode.id, to: newName, in: target)
            }
        case "exchange":
            let moves = try isFolder(name, in: folder) || isFolder(newName, in: target)
            let to = moves && !kinds.contains(.folderMoves) ? folder : target
            try test.catalog.write { try $0.exchange(name, in: folder, with: newName, in: to, settle: settle) }
        case "save over":
            try create("new", in: folder, settle)
            try rename("new", folder, name, folder, settle)
        case "backup":
            // vim: away, anew, and perhaps the backup goes.
            try rename(name, folder, Filename(name.string + "~"), folder, settle)
            try create(name, in: folder, settle)
            guard Bool.random(using: &generator) else { return }
            _ = try test.catalog.write { try $0.unlink(Filename(name.string + "~"), in: folder, settle: settle) }
        case "move away":
            try rename(name, folder, "old", folder, settle)
            try create(name, in: folder, settle)
            _ = try test.catalog.write { try $0.unlink("old", in: folder, settle: settle) }
        case "linked backup":
            try test.catalog.write { writer in
                guard let inode = try writer.child(of: folder, named: name) else { return }
                _ = try writer.link(inode.id, to: Filename(name.string + "~"), in: folder)
            }
            try create("new", in: folder, settle)
            try rename("new", folder, name, folder, settle)
        default: try test.catalog.write { try $0.settleNow(retrying: false) }
        }
    }

    private func isFolder(_ name: Filename, in folder: InodeID) throws -> Bool {
        try test.catalog.read { try $0.child(of: folder, named: name) }?.isFolder == true
    }

    private func create(_ name: Filename, in folder: InodeID, _ settle: Double) throws {
        let inode = try test.catalog.write { writer in
            let file = NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0)
            let inode = try writer.create(file, in: folder, named: name, settle: settle)
            try writer.endWriting(inode.id, settle: settle, defaults: test.context.defaults)
            return inode.id
        }
        lastContent += 1
        contents[inode] = lastContent
    }

    private func edit(_ name: Filename, in folder: InodeID, _ settle: Double) throws {
        guard let inode = try test.catalog.read({ try $0.child(of: folder, named: name) }), !inode.isFolder else {
            return
        }
        try test.catalog.write {
            _ = try $0.recordWritten(inode.id, size: 1, modified: .now, mark: nil, settle: settle)
        }
        lastContent += 1
        contents[inode.id] = lastContent
    }

    private func rename(
        _ name: Filename, _ folder: InodeID, _ newName: Filename, _ target: InodeID, _ settle: Double
    ) throws {
        _ = try test.catalog.write {
            try $0.rename(name, in: folder, to: newName, in: target, noReplace: false, settle: settle)
        }
    }

    // MARK: The engine

    private func send(rounds: Int) throws {
        for _ in 0..<rounds {
            if !underWay.isEmpty, rounds > 1 || Bool.random(using: &generator) {
                try reply(to: underWay.keys.sorted { $0.rawValue < $1.rawValue }.randomElement(using: &generator)!)
            }
            let pending = try test.catalog.read { try $0.pending(at: .now, limit: 10_000) }
            var steps = Planner.plan(pending).filter { step in !underWay.values.contains { step.waits(for: $0.planned) }
            }
            .shuffled(using: &generator)
            if steps.isEmpty && underWay.isEmpty {
                if let step = Planner.breakDeadlock(among: pending, at: .now) { steps = [step] }
            }
            if steps.isEmpty && underWay.isEmpty {
                if try test.catalog.read({ try $0.nextMoment(after: .now) }) == nil, !pending.isEmpty {
                    tell("everything waits for something: \(pending.map(Self.show))")
                }
                return
            }
            // All at once: none of them sees what another has done.
            var begun: [Planner.Planned] = []
            for step in steps where !begun.contains(where: step.waits(for:)) {
                try begin(step)
                begun.append(step)
            }
            for step in begun where !kinds.contains(.lateReplies) || Bool.random(using: &generator) {
                try reply(to: step.pending.item.id)
            }
        }
        if rounds > 1 { tell("it does not end") }
    }

    private static func show(_ one: PendingItem) -> String {
        func show(_ place: TreePlace?) -> String { place.map { "\($0.parent.rawValue)/\($0.name)" } ?? "-" }
        let item = one.item
        return "\(item.id.rawValue) \(item.kind.isFolder ? "folder" : "document") base \(show(item.base))"
            + " local \(show(item.local)) remote \(show(item.remote))"
            + " occupant \(one.occupant?.id.rawValue ?? 0) children \(one.remoteChildren)"
    }

    /// The store takes the step.
    private func begin(_ planned: Planner.Planned) throws {
        let row = planned.pending.item
        story.append("    \(planned.step) of \(row.id.rawValue) \(row.identifier?.rawValue ?? "")")
        var made = row.identifier
        let content = row.inode.flatMap { contents[$0] } ?? 0
        switch planned.step {
        case .create, .uploadContents:
            if row.kind.isDocument {
                try test.catalog.write { try $0.recordSending(row.id, SentContent(hash: [], size: 0)) }
            }
            if planned.step == .create {
                made = try model.create(
                    planned.pending.parentIdentifier!, row.local!.name, isFolder: row.kind.isFolder, content: content)
            } else {
                try model.change(row.identifier!, content: content)
            }
        case .move(let place): try model.move(row.identifier!, planned.pending.parentIdentifier!, place.name)
        case .moveAside:
            try model.move(row.identifier!, model.nodes[row.identifier!]!.parent, Filename("aside \(row.id.rawValue)"))
        case .delete: try model.delete(row.identifier!)
        case .updateMetadata, .forget: break
        case .takeBackDeletion, .takeBackMove: throw ModelStore.Illegal(description: "nothing is to be taken back")
        case .findCreation: throw ModelStore.Illegal(description: "no reply was lost")
        }
        underWay[row.id] = (planned, made)
    }

    /// The store's reply comes.
    private func reply(to id: ItemID) throws {
        guard let (planned, identifier) = underWay.removeValue(forKey: id) else { return }
        let row = planned.pending.item
        story.append("    reply to \(planned.step) of \(id.rawValue)")
        let defaults = test.context.defaults
        func answer() -> Item {
            let node = model.nodes[identifier!]!
            return Item(
                identifier: identifier!, parentIdentifier: node.parent, filename: node.name, kind: row.kind,
                contentModificationDate: FileTime(seconds: 0), version: version)
        }
        try test.catalog.write { writer in
            switch planned.step {
            case .create:
                try writer.confirmCreation(
                    id, as: answer(), contentRevision: row.contentRevision, metadataRevision: row.metadataRevision)
            case .move(let place): try writer.confirmMove(id, as: answer(), sent: place, defaults: defaults)
            case .moveAside:
                let aside = TreePlace(parent: row.base!.parent, name: Filename("aside \(id.rawValue)"))
                try writer.confirmMove(id, as: answer(), sent: aside, defaults: defaults)
            case .uploadContents:
                try writer.confirmContents(
                    id, as: answer(), contentRevision: row.contentRevision, metadataRevision: row.metadataRevision)
            case .updateMetadata: try writer.keepMetadataLocal(id, metadataRevision: row.metadataRevision)
            case .delete, .forget: try writer.confirmDeletion(id, defaults: defaults)
            case .takeBackDeletion, .takeBackMove, .findCreation: break
            }
        }
    }

    /// What the store is to have: every item by its primary name, but for what is excluded.
    private func localPaths() throws -> [String: Int?] {
        var paths: [String: Int?] = [:]
        try test.catalog.read { reader in
            func collect(_ folder: InodeID, _ parent: ItemID, _ prefix: String) throws {
                for entry in try reader.children(of: folder, after: 0, limit: 1_000) {
                    guard let item = try reader.item(of: entry.inode.id) else {
                        tell("\(prefix)/\(entry.name) has no item")
                        continue
                    }
                    guard !item.isExcluded, item.local == TreePlace(parent: parent, name: entry.name) else { continue }
                    let path = prefix + "/" + entry.name.string
                    paths[path] = .some(entry.inode.isFolder ? nil : contents[entry.inode.id])
                    if entry.inode.isFolder { try collect(entry.inode.id, item.id, path) }
                }
            }
            try collect(.root, .root, "")
        }
        return paths
    }
}
