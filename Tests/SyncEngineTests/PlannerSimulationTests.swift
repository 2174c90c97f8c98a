import FileProvider
import ItemCatalog
import Testing

@testable import SyncEngine

/// Random changes of a local tree, sent step by step to a store that refuses whatever is not legal.
@Suite struct PlannerSimulationTests {
    @Test(arguments: UInt64(0)..<25)
    func everyStepIsLegalAndItEnds(seed: UInt64) throws {
        try Simulation(seed: seed, movesFolders: false).run()
    }

    @Test(arguments: UInt64(0)..<25)
    func alsoWhenFoldersMoveIntoOneAnother(seed: UInt64) throws {
        try Simulation(seed: seed, movesFolders: true).run()
    }
}

private struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &+ 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// A store that knows nothing but which tree is legal.
private struct ModelStore {
    struct Node: Equatable {
        var parent: ItemIdentifier
        var name: Filename
        var isFolder: Bool
    }
    struct Illegal: Error, CustomStringConvertible { var description: String }
    var nodes: [ItemIdentifier: Node] = [:]
    var next = 0

    private func check(_ parent: ItemIdentifier, _ name: Filename) throws {
        guard parent == .rootContainer || nodes[parent]?.isFolder == true else {
            throw Illegal(description: "no folder \(parent)")
        }
        if nodes.values.contains(where: { $0.parent == parent && $0.name == name }) {
            throw Illegal(description: "\(name) is taken in \(parent)")
        }
    }

    mutating func create(_ parent: ItemIdentifier, _ name: Filename, isFolder: Bool) throws -> ItemIdentifier {
        try check(parent, name)
        next += 1
        let identifier = ItemIdentifier("n\(next)")
        nodes[identifier] = Node(parent: parent, name: name, isFolder: isFolder)
        return identifier
    }

    mutating func move(_ identifier: ItemIdentifier, _ parent: ItemIdentifier, _ name: Filename) throws {
        try check(parent, name)
        var above: ItemIdentifier? = parent
        while let current = above {
            if current == identifier { throw Illegal(description: "\(identifier) into itself") }
            above = nodes[current]?.parent
        }
        guard nodes[identifier] != nil else { throw Illegal(description: "no \(identifier)") }
        nodes[identifier]!.parent = parent
        nodes[identifier]!.name = name
    }

    mutating func delete(_ identifier: ItemIdentifier) throws {
        if nodes.values.contains(where: { $0.parent == identifier }) {
            throw Illegal(description: "\(identifier) is not empty")
        }
        guard nodes.removeValue(forKey: identifier) != nil else { throw Illegal(description: "no \(identifier)") }
    }

    func path(_ identifier: ItemIdentifier) -> String {
        guard let node = nodes[identifier] else { return "" }
        return path(node.parent) + "/" + node.name.string
    }

    var paths: [String: Bool] {
        Dictionary(uniqueKeysWithValues: nodes.map { (path($0.key), $0.value.isFolder) })
    }
}

private final class Simulation {
    let test: TestEngine
    var generator: Generator
    var model = ModelStore()
    let movesFolders: Bool
    let version = ItemVersion(content: ContentVersion("1"), metadata: MetadataVersion("1"))

    init(seed: UInt64, movesFolders: Bool) throws {
        test = try TestEngine()
        generator = Generator(state: seed)
        self.movesFolders = movesFolders
        _ = try test.catalog.write { try $0.mergeListing(of: .root, [], defaults: test.context.defaults) }
    }

    func run() throws {
        for _ in 0..<5 {
            for _ in 0..<Int.random(in: 1...25, using: &generator) { try change() }
            // Sometimes the next changes come while some steps are still to be taken.
            try send(rounds: Bool.random(using: &generator) ? 1 : 500)
        }
        try send(rounds: 500)
        #expect(try test.pending().isEmpty)
        #expect(model.paths == (try localPaths()))
    }

    // MARK: Programs

    private func folders() throws -> [InodeID] {
        try test.catalog.read { try $0.enumeratedFolders() }
    }

    private func change() throws {
        let folder = try folders().randomElement(using: &generator)!
        let target = try folders().randomElement(using: &generator)!
        let name = Filename(["a", "b", "c"].randomElement(using: &generator)!)
        let newName = Filename(["a", "b", "c"].randomElement(using: &generator)!)
        let settle = 0.0
        do {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: try test.makeFolder(name, in: folder)
            case 1, 2:
                try test.catalog.write { writer in
                    let file = NewFile(kind: .document, mode: 0o644, uid: 0, gid: 0)
                    let inode = try writer.create(file, in: folder, named: name, settle: settle)
                    try writer.endWriting(inode.id, settle: settle, defaults: test.context.defaults)
                }
            case 3: _ = try test.catalog.write { try $0.removeFolder(name, in: folder, settle: settle) }
            case 4: try test.unlink(name, in: folder)
            default:
                let isFolder = try test.catalog.read { try $0.child(of: folder, named: name) }?.isFolder == true
                try test.rename(name, newName, from: folder, to: isFolder && !movesFolders ? folder : target)
            }
        } catch let error as CatalogError {
            // A program's mistake (no such name, a taken one): part of life.
            if case .system = error.code { throw error }
        }
    }

    // MARK: The engine

    private func send(rounds: Int) throws {
        for _ in 0..<rounds {
            let pending = try test.catalog.read {
                try $0.pending(at: FileTime(nanoseconds: .max - 1), limit: 10_000)
            }
            var steps = Planner.plan(pending).shuffled(using: &generator)
            if steps.isEmpty, let step = Planner.breakDeadlock(among: pending, at: .farFuture) { steps = [step] }
            if steps.isEmpty {
                let stuck = pending.map { one in
                    let item = one.item
                    func show(_ place: TreePlace?) -> String { place.map { "\($0.parent.rawValue)/\($0.name)" } ?? "-" }
                    return "\(item.id.rawValue) \(item.kind.isFolder ? "folder" : "document") base \(show(item.base))"
                        + " local \(show(item.local)) remote \(show(item.remote))"
                        + " occupant \(one.occupant?.id.rawValue ?? 0) children \(one.remoteChildren)"
                }
                #expect(stuck == [], "everything waits for something")
                return
            }
            for step in steps { try take(step) }
        }
        if rounds > 1 { Issue.record("it does not end") }
    }

    private func answer(_ row: ItemRecord, _ identifier: ItemIdentifier) -> Item {
        let node = model.nodes[identifier]!
        return Item(
            identifier: identifier, parentIdentifier: node.parent, filename: node.name, kind: row.kind,
            contentModificationDate: FileTime(seconds: 0), version: version)
    }

    private func take(_ planned: Planner.Planned) throws {
        let row = planned.pending.item
        let defaults = test.context.defaults
        try test.catalog.write { writer in
            switch planned.step {
            case .create:
                let identifier = try model.create(
                    planned.pending.parentIdentifier!, row.local!.name, isFolder: row.kind.isFolder)
                try writer.confirmCreation(
                    row.id, as: answer(row, identifier), contentRevision: row.contentRevision,
                    metadataRevision: row.metadataRevision)
            case .move(let place):
                try model.move(row.identifier!, planned.pending.parentIdentifier!, place.name)
                try writer.confirmMove(row.id, as: answer(row, row.identifier!), sent: place, defaults: defaults)
            case .moveAside:
                let aside = TreePlace(parent: row.base!.parent, name: Filename("aside \(row.id.rawValue)"))
                try model.move(row.identifier!, model.nodes[row.identifier!]!.parent, aside.name)
                try writer.confirmMove(row.id, as: answer(row, row.identifier!), sent: aside, defaults: defaults)
            case .uploadContents:
                try writer.confirmContents(
                    row.id, as: answer(row, row.identifier!), contentRevision: row.contentRevision,
                    metadataRevision: row.metadataRevision)
            case .updateMetadata:
                try writer.keepMetadataLocal(row.id, metadataRevision: row.metadataRevision)
            case .delete:
                try model.delete(row.identifier!)
                try writer.confirmDeletion(row.id, defaults: defaults)
            case .forget: try writer.confirmDeletion(row.id, defaults: defaults)
            case .takeBackDeletion: throw ModelStore.Illegal(description: "nothing is to be taken back")
            }
        }
    }

    private func localPaths() throws -> [String: Bool] {
        var paths: [String: Bool] = [:]
        func collect(_ folder: InodeID, _ prefix: String) throws {
            for entry in try test.catalog.read({ try $0.children(of: folder, after: 0, limit: 1_000) }) {
                paths[prefix + "/" + entry.name.string] = entry.inode.isFolder
                if entry.inode.isFolder { try collect(entry.inode.id, prefix + "/" + entry.name.string) }
            }
        }
        try collect(.root, "")
        return paths
    }
}
