import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// One save of a document that the store has, by a real program, and what it must come to. Whatever the
/// program does with names and temporary files, the provider sees the *document* change, once.
struct ProgramSave: Sendable, CustomTestStringConvertible {
    static let letter = "Dear Anna,\nall is well.\n"
    /// Long enough for a busy machine to get from one call of a program's to the next; a name that was vacated
    /// waits that long, too.
    static let settle = 3.0
    static var options: MountOptions {
        .with {
            $0.settle = settle
            $0.settleAfterSync = 5
            $0.limit = 90
        }
    }

    static func seed(_ store: String) throws {
        try Seeding(store).file("letter.txt", letter)
        try Seeding(store).file("other.txt", "Not touched.\n")
    }

    var name: String
    /// Runs in the mount.
    var script: String
    /// The letter has been read before; else none of its bytes are here.
    var isRead = false
    /// What the letter has afterwards.
    var content = "Dear Berta,\nall is well.\n"
    /// New documents that the program left: names and contents.
    var documents: [String: String] = [:]
    /// What it left that stays on this machine.
    var excluded: [String: String] = [:]

    var testDescription: String { name }

    /// A program that somebody types into.
    static func typed(
        _ name: String, _ command: String, _ steps: [Terminal.Step],
        content: String = ProgramSave(name: "", script: "").content,
        excluded: [String: String] = [:]
    ) -> ProgramSave {
        // Strings only: encoding them does not fail.
        let script = (try? Terminal.script(command, steps)) ?? "exit 99"
        return ProgramSave(name: name, script: script, content: content, excluded: excluded)
    }

    func check() async throws {
        try await withMount(Self.options, seed: Self.seed) { mount in
            let before = try mount.status("letter.txt")
            _ = try #require(before.identifier)
            try mount.forgettingCalls {
                try mount.run((isRead ? "cat letter.txt >/dev/null\n" : "") + script, limit: 60)
            }
            // By itself, and nothing comes after it.
            try waitUntil(20, "the letter is uploaded") { try !mount.status("letter.txt").modified }
            try mount.sync()

            let expected = ["itemChanged letter.txt"] + documents.keys.map { "createItem \($0)" }
            #expect(mount.changes() == expected.sorted())
            let after = try mount.status("letter.txt")
            #expect(after.identifier == before.identifier)
            #expect(after.version != before.version)
            #expect(!after.modified && !after.excluded)

            let store = Seeding(mount.store)
            let here = Seeding(mount.mountPoint)
            let common = documents.merging(["letter.txt": content, "other.txt": "Not touched.\n"]) { $1 }
            #expect(try store.contents() == common)
            #expect(try here.contents() == common.merging(excluded) { $1 })
            for name in excluded.keys { #expect(try mount.status(name).excluded, "\(name)") }
        }
    }
}

extension MountedStore {
    /// The calls that changed something at the provider, sorted; since ``forgetCalls()``.
    func changes() -> [String] {
        hookCalls().filter { [.itemChanged, .createItem, .deleteItem, .moveItem].contains($0.hook) }
            .map { "\($0.hook) \($0.item)" }.sorted()
    }

    /// Only the calls from here on count.
    @discardableResult
    func forgettingCalls<Value>(_ body: () throws -> Value) rethrows -> Value {
        forgetCalls()
        return try body()
    }
}

extension Seeding {
    /// Every name in the folder, with the text that is there. The provider's own drafts would count, too.
    func contents() throws -> [String: String] {
        try Dictionary(uniqueKeysWithValues: names().map { ($0, try text($0)) })
    }
}
