import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// A version is never overwritten unseen: what both sides changed is kept twice.
@Suite("Changes on both sides")
struct ConflictTests {
    @Test("the store's contents changed while ours were pending: both survive", arguments: Stage.allCases)
    func bothChanged(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("doc.txt", "base")
        } _: { scene in
            #expect(try scene.files.text("doc.txt") == "base")
            try scene.files.put("doc.txt", "local version")
            try scene.storeWrites("doc.txt", "remote")
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store["doc.txt"] == .document(Array("remote".utf8)))
            #expect(store.count == 2)
            let copy = try #require(store.keys.first { $0 != "doc.txt" })
            #expect(store[copy] == .document(Array("local version".utf8)))
            #expect(copy.hasPrefix("doc (conflicted copy") && copy.hasSuffix(".txt"))
            #expect(try scene.files.names() == ["doc.txt", copy].sorted())
            try waitUntil(2, "the store's version shows") { try scene.files.text("doc.txt") == "remote" }
            #expect(try scene.files.text(FSPath(copy)) == "local version")
        }
    }

    @Test("both made a document of the same name: both survive", arguments: Stage.allCases)
    func bothCreated(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("other.txt", "other")
        } _: { scene in
            #expect(try scene.files.names() == ["other.txt"])
            try scene.files.put("new.txt", "mine")
            try scene.storeWrites("new.txt", "theirs")
            try scene.sync()
            let store = try scene.storeContents()
            #expect(
                Set(store.filter { $0.key != "other.txt" }.values) == [
                    .document(Array("mine".utf8)), .document(Array("theirs".utf8)),
                ])
            #expect(store["new.txt"] == .document(Array("theirs".utf8)))
            #expect(store.count == 3)
        }
    }

    @Test(
        "renamed in the store to the name of a document made here: the store's document keeps the name",
        arguments: Stage.allCases)
    func renamedOnto(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("draft", "theirs")
        } _: { scene in
            let names = try scene.files.names()
            #expect(names == ["draft"])
            try scene.files.put("new.txt", "mine")
            try scene.storeRenames("draft", to: "new.txt")
            try waitUntil(5, "the rename shows") { try !scene.files.exists("draft") }
            try scene.sync()
            let store = try scene.storeContents()
            #expect(store.count == 2)
            #expect(store["new.txt"] == .document(Array("theirs".utf8)))
            #expect(Set(store.values) == [.document(Array("mine".utf8)), .document(Array("theirs".utf8))])
        }
    }

    @Test("both sides made the same change: no conflict", arguments: Stage.allCases)
    func sameChange(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("doc.txt", "base")
        } _: { scene in
            #expect(try scene.files.text("doc.txt") == "base")
            try scene.files.put("doc.txt", "agreed")
            try scene.storeWrites("doc.txt", "agreed")
            try scene.sync()
            #expect(try scene.storeContents() == ["doc.txt": .document(Array("agreed".utf8))])
        }
    }

    @Test("deleted in the store, changed here: the change survives", arguments: Stage.allCases)
    func deletedThere(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("doc.txt", "base")
        } _: { scene in
            #expect(try scene.files.text("doc.txt") == "base")
            try scene.files.put("doc.txt", "still wanted")
            try scene.storeRemoves("doc.txt")
            try scene.sync()
            #expect(try scene.storeContents() == ["doc.txt": .document(Array("still wanted".utf8))])
            #expect(try scene.files.text("doc.txt") == "still wanted")
        }
    }

    @Test("changed in the store, deleted here: the change survives", arguments: Stage.allCases)
    func deletedHere(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("doc.txt", "base")
        } _: { scene in
            #expect(try scene.files.text("doc.txt") == "base")
            try scene.files.unlink("doc.txt")
            try scene.storeWrites("doc.txt", "changed meanwhile")
            try scene.sync()
            #expect(try scene.storeContents() == ["doc.txt": .document(Array("changed meanwhile".utf8))])
            try waitUntil(2, "it is back") {
                try scene.files.exists("doc.txt") && scene.files.text("doc.txt") == "changed meanwhile"
            }
        }
    }

    @Test("renamed in the store, changed here: the change goes to the new name", arguments: Stage.allCases)
    func renamedThere(_ stage: Stage) async throws {
        try await withScene(stage, settle: 3_600) {
            try $0.storeWrites("doc.txt", "base")
        } _: { scene in
            #expect(try scene.files.text("doc.txt") == "base")
            try scene.files.put("doc.txt", "changed")
            try scene.storeRenames("doc.txt", to: "renamed.txt")
            try waitUntil(5, "the new name shows") { try scene.files.names() == ["renamed.txt"] }
            try scene.sync()
            #expect(try scene.storeContents() == ["renamed.txt": .document(Array("changed".utf8))])
        }
    }

    @Test("the log has a line with the name of the conflicted copy")
    func told() async throws {
        try await withMount(.lateUploads) {
            try Seeding($0).file("doc.txt", "base")
        } _: { mount in
            try mount.run("echo local > doc.txt")
            try Seeding(mount.store).file("doc.txt", "remote, longer")
            try mount.sync()
            let copy = try #require(try Seeding(mount.store).names().first { $0 != "doc.txt" })
            #expect(mount.logTail.contains("conflict") && mount.logTail.contains(copy))
        }
    }
}
