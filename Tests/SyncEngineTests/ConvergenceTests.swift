import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import MountHarness
import SyncEngine
import Testing
import Trees
import TreesHarness
import Volume

/// Programs here and another client at the store change the same documents at once, and some programs keep them open
/// meanwhile. Everybody adds a line to what he found, so that a line may only go with what somebody deleted.
@Suite(.serialized) struct ConvergenceTests {
    @Test(arguments: UInt64(0)..<10)
    func bothSidesEndTheSameAndNoLineIsLost(seed: UInt64) async throws {
        try await TwoSides(seed: seed).run()
    }

    /// A reply that is lost makes no copy, and costs no line.
    @Test(arguments: UInt64(100)..<106)
    func alsoWhenTheStoreFailsNowAndThen(seed: UInt64) async throws {
        try await TwoSides(seed: seed, isFailing: true).run()
    }
}

private final class TwoSides {
    private let provider = FaultInjectingProvider(InMemoryProvider(pieceSize: 64, signalsOwnChanges: true))
    private let directory = NSTemporaryDirectory() + "two-sides-\(UUID().uuidString)"
    private let store: InProcessStore
    private let isFailing: Bool
    private var generator: Generator
    private var lastLine = 0
    /// Lines that nobody has deleted, and where they were written.
    private var lines: [String: String] = [:]
    private var story: [String] = []
    private struct Writer {
        var opened: Opened
        var node: NodeID
        var lines: [String] = []
        var isUnlinked = false
    }
    private var writers: [Writer] = []

    private var remote: InMemoryProvider { provider.base }
    private var volume: Volume { store.volume }

    init(seed: UInt64, isFailing: Bool = false) throws {
        generator = Generator(state: seed)
        self.isFailing = isFailing
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        store = try InProcessStore(provider: provider, directory: directory)
    }

    func run() async throws {
        for _ in 0..<4 {
            for _ in 0..<15 {
                try await change()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...15, using: &generator)))
            }
            if Bool.random(using: &generator) { _ = try await volume.engine.sync(timeout: 1) }
        }
        while !writers.isEmpty { try await closeWriter() }
        provider.plan.clear()
        try await end()
        await store.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func end() async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        var (here, there): ([String: StoredEntry], [String: StoredEntry]) = ([:], [:])
        var pending: [ItemRecord] = []
        var everything = ""
        repeat {
            pending = try await volume.engine.sync(timeout: 5)
            for folder in try store.catalog.read({ try $0.enumeratedFolders() }) {
                try? await volume.engine.enumerate(folder)
            }
            (here, everything) = try await tree()
            there = remote.snapshot()
        } while (!pending.isEmpty || here != there) && .now < deadline
        if !pending.isEmpty { fail("does not end: \(pending)") }
        if here != there { fail("here \(here)\nat the store \(there)") }
        let found = Set(everything.split(separator: "\n").map(String.init))
        for (line, place) in lines where !found.contains(line) {
            fail("line \(line) of \(place) is lost; left is \(everything)\n\(calls)")
        }
    }

    /// What the store was asked to change.
    private var calls: String {
        remote.calls.filter { [.createItem, .itemChanged, .moveItem, .deleteItem].contains($0.hook) }
            .map { "  \($0)" }.joined(separator: "\n")
    }

    private func fail(_ what: String) { Issue.record("\(what)\n\(story.joined(separator: "\n"))") }

    // MARK: Calls

    private func answer<T>(_ call: () throws -> Outcome<T>) async throws -> T {
        while true {
            switch try call() {
            case .ready(let value): return value
            case .wait(let wait): try await wait.run()
            }
        }
    }

    private func lookUp(_ name: Filename, in folder: NodeID) async throws -> Lookup? {
        try await answer { try volume.lookUp(name, in: folder) }
    }

    private func existing(_ name: Filename, in folder: NodeID) async throws -> Lookup {
        guard let found = try await lookUp(name, in: folder) else { throw VolumeError(ENOENT, "\(name)") }
        return found
    }

    private func read(_ handle: HandleID) async throws -> String {
        try await answer {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            return switch try bytes.withUnsafeMutableBytes({ try volume.read(handle, into: $0, at: 0) }) {
            case .ready(let count): .ready(String(decoding: bytes[..<count], as: UTF8.self))
            case .wait(let wait): .wait(wait)
            }
        }
    }

    private func text(of node: NodeID) async throws -> String {
        let opened = try volume.open(node, flags: O_RDONLY)
        defer { volume.close(opened.handle) }
        return try await read(opened.handle)
    }

    private func write(_ handle: HandleID, _ text: String, at offset: Int64) throws {
        try Array(text.utf8).withUnsafeBytes { try volume.write(handle, $0, at: offset) }
    }

    private func newLine() -> String {
        lastLine += 1
        return "line \(lastLine)"
    }

    private func create(_ name: Filename, in folder: NodeID, _ text: String) async throws {
        let (_, opened) = try await answer {
            try volume.create(name, in: folder, mode: 0o644, uid: 0, gid: 0)
        }
        defer { volume.close(opened.handle) }
        try write(opened.handle, text, at: 0)
        try volume.flush(opened.handle)
    }

    private func rename(_ name: Filename, _ newName: Filename, in folder: NodeID, to target: NodeID) async throws {
        try await answer { try volume.rename(name, in: folder, to: newName, in: target, noReplace: false) }
    }

    // MARK: What is deleted on purpose

    private func forget(_ text: String) {
        for line in text.split(separator: "\n") { lines[String(line)] = nil }
    }

    /// Does what takes a name away from a document; the lines that were in it may go then.
    private func losing(_ name: Filename, in folder: NodeID, keeping kept: String = "", _ body: () async throws -> Void)
        async throws
    {
        var place = ""
        for path in ["f", "g"] where try await lookUp(Filename(path), in: .root)?.node == folder { place = path }
        let atTheStore = String(decoding: remote.read(place + "/" + name.string) ?? [], as: UTF8.self)
        guard let before = try await lookUp(name, in: folder), before.attributes.record.kind == .document else {
            try await body()
            // It may have come to the name since it was looked for.
            return forget(atTheStore)
        }
        let id = before.attributes.record.id
        let held = writers.indices.filter {
            (try? volume.attributes(of: writers[$0].node).record.id) == id
        }
        let old = try await text(of: before.node)
        let keptLines = Set(kept.split(separator: "\n"))
        func forgetBut(_ text: String) {
            forget(text.split(separator: "\n").filter { !keptLines.contains($0) }.joined(separator: "\n"))
        }
        try await body()
        let after = try store.catalog.read { try $0.inodeIfPresent(id) }
        guard after?.linkCount ?? 0 == 0 else {
            // What was looked at is elsewhere: the store's document had come to the name just before, and it went.
            return forgetBut(atTheStore)
        }
        for index in held { writers[index].isUnlinked = true }
        var gone = old
        // Another version came in between, unseen: what of it is here is known only to the node.
        if after?.generation != before.attributes.record.generation || after?.size != before.attributes.record.size {
            gone +=
                "\n"
                + remote.snapshot().values.reduce("") { text, entry in
                    if case .document(let bytes) = entry {
                        text + String(decoding: bytes, as: UTF8.self) + "\n"
                    } else {
                        text
                    }
                }
        }
        forgetBut(gone)
    }

    // MARK: Changes

    private static let folders = ["", "f", "g"]
    private static let names = ["a", "b", "c"]

    private func anyFolder() async throws -> (path: String, node: NodeID) {
        let path = Self.folders.randomElement(using: &generator)!
        if path.isEmpty { return ("", .root) }
        let name = Filename(path)
        if let found = try await lookUp(name, in: .root) { return (path, found.node) }
        let made = try await answer { try volume.makeFolder(name, in: .root, mode: 0o755, uid: 0, gid: 0) }
        return (path, made.node)
    }

    private func change() async throws {
        if isFailing, Int.random(in: 0..<4, using: &generator) == 0 {
            let hook = [Hook.createItem, .itemChanged, .moveItem, .deleteItem].randomElement(using: &generator)!
            let fault: Fault =
                Bool.random(using: &generator) ? .lostReply : .error(FileProviderError(.busy, "A test wanted it so."))
            provider.plan.inject(fault, into: hook)
        }
        let choices = [
            "append", "append", "append", "open", "open", "write", "write", "write", "close", "unlink", "rename",
            "rename", "exchange", "link", "save", "save", "backup", "exclude",
            "put", "put", "put", "put", "remote delete", "remote rename", "remote rename",
        ]
        let choice = choices.randomElement(using: &generator)!
        do {
            let (folder, target) = (try await anyFolder(), try await anyFolder())
            let (name, other) = (
                Self.names.randomElement(using: &generator)!, Self.names.randomElement(using: &generator)!
            )
            story.append("\(choice) \(folder.path)/\(name) \(target.path)/\(other)")
            switch choice {
            case "put", "remote delete", "remote rename":
                try await remotely(choice, folder.path + "/" + name, target.path + "/" + other)
            default: try await locally(choice, Filename(name), folder.node, Filename(other), target.node)
            }
        } catch {
            // Part of life: no such name, a document that was replaced just now, a store that was quicker.
            story[story.count - 1] += ": \(error)"
        }
    }

    private func locally(
        _ choice: String, _ name: Filename, _ folder: NodeID, _ other: Filename, _ target: NodeID
    ) async throws {
        let line = newLine()
        switch choice {
        case "append":
            guard let found = try await lookUp(name, in: folder) else {
                try await create(name, in: folder, line + "\n")
                break
            }
            let opened = try volume.open(found.node, flags: O_RDWR)
            defer { volume.close(opened.handle) }
            let old = try await read(opened.handle)
            try write(opened.handle, line + "\n", at: Int64(old.utf8.count))
            try volume.flush(opened.handle)
        case "open":
            let found = try await existing(name, in: folder)
            let opened = try volume.open(found.node, flags: O_RDWR)
            do {
                _ = try await read(opened.handle)
                writers.append(Writer(opened: opened, node: found.node))
            } catch {
                volume.close(opened.handle)
                throw error
            }
            return
        case "write":
            guard let index = writers.indices.randomElement(using: &generator) else { return }
            // (At the end, wherever that is by now: others write the same file.)
            let size = try volume.attributes(of: writers[index].node).record.size
            try write(writers[index].opened.handle, line + "\n", at: size)
            writers[index].lines.append(line)
            return
        case "close": return try await closeWriter()
        case "unlink":
            return try await losing(name, in: folder) { try await answer { try volume.unlink(name, in: folder) } }
        case "rename":
            return try await losing(other, in: target) { try await rename(name, other, in: folder, to: target) }
        case "exchange":
            return try await answer { try volume.exchange(name, in: folder, with: other, in: target) }
        case "link":
            let found = try await existing(name, in: folder)
            _ = try await answer { try volume.link(found.node, to: other, in: target) }
            return
        case "save":
            let old = try await text(of: existing(name, in: folder).node)
            try await create("new", in: folder, old + line + "\n")
            try await losing(name, in: folder, keeping: old) { try await rename("new", name, in: folder, to: folder) }
        case "backup":
            let old = try await text(of: existing(name, in: folder).node)
            let backup = Filename(name.string + "~")
            try await losing(backup, in: folder) { try await rename(name, backup, in: folder, to: folder) }
            try await create(name, in: folder, old + line + "\n")
        default:
            let backup = Filename(name.string + "~")
            return try await losing(backup, in: folder) { try await rename(name, backup, in: folder, to: folder) }
        }
        lines[line] = story.last
    }

    private func closeWriter() async throws {
        guard let index = writers.indices.randomElement(using: &generator) else { return }
        let writer = writers.remove(at: index)
        defer { volume.close(writer.opened.handle) }
        try volume.flush(writer.opened.handle)
        if !writer.isUnlinked { for line in writer.lines { lines[line] = "a program that had it open" } }
    }

    private func remotely(_ choice: String, _ path: String, _ newPath: String) async throws {
        func folder(_ path: String) throws -> ItemIdentifier {
            let above = path.split(separator: "/").dropLast().joined(separator: "/")
            guard let item = remote.item(at: above) else { throw FileProviderError(.noSuchItem, above) }
            return item.identifier
        }
        let name = Filename(String(path.split(separator: "/").last!))
        let metadata = ItemMetadata(contentModificationDate: .now)
        // Each against the version that was looked at: the other client overwrites nothing unseen either.
        let item = remote.item(at: path)
        let text = String(decoding: remote.read(path) ?? [], as: UTF8.self)
        let line = newLine()
        switch (choice, item) {
        case ("put", nil):
            _ = try await remote.createItem(
                ItemTemplate(
                    parentIdentifier: try folder(path), filename: name, kind: .document,
                    contentModificationDate: .now), contents: BytesSource(line + "\n"))
            lines[line] = story.last
        case ("put", let item?):
            _ = try await remote.itemChanged(
                item.identifier, contents: BytesSource(text + line + "\n"), metadata: metadata,
                baseVersion: item.version)
            lines[line] = story.last
        case ("remote delete", let item?):
            try await remote.deleteItem(item.identifier, baseVersion: item.version)
            forget(text)
        case ("remote rename", let item?):
            _ = try await remote.moveItem(
                item.identifier, to: try folder(newPath), as: Filename(String(newPath.split(separator: "/").last!)),
                baseVersion: item.version)
        default: break
        }
    }

    // MARK: The end

    /// What the store is to have, and the text of every document there is.
    private func tree() async throws -> ([String: StoredEntry], String) {
        var (entries, everything): ([String: StoredEntry], String) = ([:], "")
        func collect(_ folder: NodeID, _ item: ItemRecord, _ prefix: String) async throws {
            for entry in try volume.entries(of: folder, after: 0, limit: 1_000) {
                guard let found = try await lookUp(entry.name, in: folder) else { continue }
                let row = try store.catalog.read { try $0.item(of: found.attributes.record.id) }
                let isTheStores =
                    row.map { !$0.isExcluded && $0.local == TreePlace(parent: item.id, name: entry.name) } ?? false
                let path = prefix + entry.name.string
                if let row, row.kind.isFolder {
                    entries[path] = .folder
                    try await collect(found.node, row, path + "/")
                } else {
                    let text = (try? await text(of: found.node)) ?? "unreadable"
                    everything += text + "\n"
                    if isTheStores { entries[path] = .document(Array(text.utf8)) }
                }
            }
        }
        let root = try store.catalog.read { try $0.item(of: .root) }
        try await collect(.root, root!, "")
        return (entries, everything)
    }
}
