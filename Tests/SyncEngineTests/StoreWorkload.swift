import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import ItemCatalog
import MountHarness
import SyncEngine
import Trees
import Volume

/// What a program does with a document store in an ordinary hour, as steps; and what must be there at the end, whatever
/// the store did meanwhile.
///
/// A call that fails is made again, as people do. Bytes that are read are those of a version that the document had.
struct StoreWorkload: Sendable {
    typealias Store = FaultInjectingProvider<OddAnswers>
    let here: InProcessStore
    let store: Store
    private var files: VolumeFileSystem { here.files }
    private var remote: InMemoryProvider { store.base.base }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    // MARK: Bytes

    /// Different at every place, so that a byte from elsewhere is seen.
    static func bytes(_ seed: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) ^ (seed &* 77) | 1) }
    }
    private static let old = bytes(1, 30_000)
    private static let large = bytes(2, 200_000)
    private static let edited = bytes(3, 20_000)
    private static let saved = bytes(4, 9_000)
    private static let made = bytes(5, 15_000)
    private static let theirs = bytes(6, 25_000)
    private static let patch = bytes(7, 500)

    static func fill(_ remote: InMemoryProvider) throws {
        for name in ["read", "edited", "saved", "renamed", "moved", "deleted", "evicted", "theirs", "dated"] {
            try remote.put(name, old)
        }
        try remote.put("large", large)
        try remote.put("patched", large)
        try remote.put("folder/inside", old)
        try remote.mkdir("empty")
    }

    /// The end of it all.
    static let result: [String: StoredEntry] = {
        var patched = large
        patched.replaceSubrange(70_000..<70_500, with: patch)
        return [
            "read": .document(old), "edited": .document(edited), "saved": .document(saved), "renamed 2": .document(old),
            "evicted": .document(old), "theirs": .document(theirs), "dated": .document(old), "large": .document(large),
            "patched": .document(patched), "made": .document(made), "folder": .folder, "folder/inside": .document(old),
            "folder/moved": .document(old), "new": .folder, "new/inside": .document(made),
            "folder/from there": .document(theirs),
        ]
    }()

    // MARK: Calls

    /// Until it works: the errno is the store's fault.
    private func again<T>(_ what: String, _ body: () throws -> T) throws -> T {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do { return try body() } catch let error as FSError {
                if .now > deadline { throw Failure(description: "\(what) goes on failing: \(error)") }
                usleep(20_000)
                // Whoever does not find what he expects looks again.
                if [ENOENT, ESTALE, ENOTEMPTY].contains(error.errno) { try? relist() }
            }
        }
    }

    /// Every folder that was looked at is asked for anew.
    private func relist() throws {
        let folders = try here.catalog.read { try $0.enumeratedFolders() }
        try blocking { [engine = here.volume.engine] in for folder in folders { try await engine.enumerate(folder) } }
    }

    private func read(_ path: FSPath, _ versions: [UInt8]...) throws -> [UInt8] {
        let found = try again("reading \(path)") { try files.readAll(path) }
        if versions.contains(found) { return found }
        let place = zip(found, versions[0]).enumerated().first { $1.0 != $1.1 }?.offset
        throw Failure(
            description: "\(path) was read wrongly: \(found.count) bytes, other than in the newest version from "
                + "\(place.map(String.init) ?? "its end") on")
    }

    private func readPart(_ path: FSPath, _ range: Range<Int>, of whole: [UInt8]) throws {
        let found = try again("reading a part of \(path)") {
            try files.read(path, at: Int64(range.lowerBound), range.count)
        }
        if found != Array(whole[range]) { throw Failure(description: "\(path) was read wrongly in \(range)") }
    }

    private func put(_ path: FSPath, _ bytes: [UInt8]) throws {
        try again("saving \(path)") { try files.put(path, bytes) }
    }

    private func evict(_ name: String) throws {
        let inode = try here.catalog.read { try $0.resolve([Filename(name)]) }.id
        try blocking { [engine = here.volume.engine] in
            // A download that nobody waits for any more may be just ending.
            let deadline = ContinuousClock.now + .seconds(60)
            while (try? engine.evict(inode)) == nil, .now < deadline { try await Task.sleep(for: .milliseconds(20)) }
        }
    }

    /// Gives the engine the time to send what the step did; a store that fails may take longer.
    func settle() throws { _ = try here.sync(limit: 0.5) }

    // MARK: Steps

    struct Step: Sendable {
        var name: String
        var run: @Sendable (StoreWorkload) throws -> Void
    }

    static let steps: [Step] = [
        Step(name: "list") { load in
            try load.again("listing") {
                let names = try load.files.names()
                if !Set(names).isSuperset(of: ["read", "theirs", "patched", "folder", "large", "empty"]) {
                    throw FSError(ENOENT, "list")
                }
            }
        },
        Step(name: "list a folder") { load in
            try load.again("listing") {
                if try !load.files.names("folder").contains("inside") { throw FSError(ENOENT, "list") }
            }
        },
        Step(name: "read") { load in _ = try load.read("read", old) },
        Step(name: "read parts") { load in
            try load.readPart("large", 150_000..<150_100, of: large)
            try load.readPart("large", 10..<20, of: large)
        },
        Step(name: "write into a placeholder") { load in
            try load.again("writing") { try load.files.write("patched", patch, at: 70_000, flags: 0) }
        },
        Step(name: "create") { load in try load.put("made", made) },
        Step(name: "edit") { load in try load.put("edited", edited) },
        Step(name: "save by rename") { load in
            try load.put("saved.tmp", saved)
            try load.again("renaming") { try load.files.rename("saved.tmp", to: "saved") }
        },
        Step(name: "rename") { load in try load.again("renaming") { try load.files.rename("renamed", to: "renamed 2") }
        },
        Step(name: "move") { load in try load.again("moving") { try load.files.rename("moved", to: "folder/moved") } },
        Step(name: "make a folder") { load in
            try load.again("mkdir") { try load.files.mkdir("new") }
            try load.put("new/inside", made)
        },
        Step(name: "date") { load in
            try load.again("utimens") { try load.files.setModified("dated", 1_000_000_000_000_000_000) }
        },
        Step(name: "delete") { load in
            try load.again("unlink") { try load.files.unlink("deleted") }
            try load.again("rmdir") { try load.files.rmdir("empty") }
        },
        Step(name: "evict and read") { load in
            _ = try load.read("evicted", old)
            try load.evict("evicted")
            _ = try load.read("evicted", old)
        },
        Step(name: "somebody else") { load in
            _ = try load.read("theirs", old)
            try load.remote.put("theirs", theirs)
            try load.remote.put("folder/from there", theirs)
            let deadline = ContinuousClock.now + .seconds(60)
            while try load.read("theirs", theirs, old) != theirs {
                if .now > deadline { throw Failure(description: "what the store changed does not show") }
                usleep(10_000)
            }
            _ = try load.read("folder/from there", theirs)
        },
    ]

    // MARK: The end

    /// The store has recovered: what is wrong then, or nil.
    func verdict() throws -> String? {
        let deadline = ContinuousClock.now + .seconds(60)
        var wrong: String?
        repeat {
            let pending = try here.sync(limit: 5)
            try? relist()
            wrong =
                pending.isEmpty
                ? try difference(remote.snapshot(), "the store") ?? difference(tree(), "the mount")
                : "pending: \(pending.map { ($0.local ?? $0.base)?.name.string ?? "?" })"
        } while wrong != nil && .now < deadline
        if wrong == nil, try here.catalog.read({ try $0.conflictCount() }) != 0 { wrong = "a conflict that is none" }
        return wrong
    }

    private func difference(_ found: [String: StoredEntry], _ whose: String) -> String? {
        let wanted = Self.result
        if found == wanted { return nil }
        let lost = wanted.keys.filter { found[$0] == nil }.sorted()
        let surplus = found.keys.filter { wanted[$0] == nil }.sorted()
        let other = wanted.keys.filter { found[$0] != nil && found[$0] != wanted[$0] }.sorted()
        return "\(whose) lacks \(lost), has too much \(surplus), has other bytes in \(other)"
    }

    /// As a program sees it.
    private func tree(_ folder: FSPath = .root, _ prefix: String = "") throws -> [String: StoredEntry] {
        var found: [String: StoredEntry] = [:]
        for bytes in try again("listing", { try files.list(folder) }) {
            let path = folder.appending(bytes)
            let name = prefix + String(decoding: bytes, as: UTF8.self)
            do {
                if try files.stat(path).kind == .folder {
                    found[name] = .folder
                    found.merge(try tree(path, name + "/")) { $1 }
                } else {
                    found[name] = .document(try files.readAll(path))
                }
            } catch let error as FSError {
                found[name] = .link(target: Array("\(error)".utf8))
            }
        }
        return found
    }
}
