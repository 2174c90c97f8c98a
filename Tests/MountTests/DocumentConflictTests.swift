import ControlAPI
import Documents
import FileCoordination
import Foundation
import MountHarness
import Testing

/// Two versions of a document: both are there, and somebody chooses.
@Suite("Documents in conflict at a real mount")
struct DocumentConflictTests {
    /// Somebody else writes while the document has changes of its own; both are there then.
    private func conflict(
        _ options: MountOptions = MountOptions(), writing script: String = "echo theirs > a.txt",
        _ body: @escaping @Sendable (MountedStore, TextDocument) async throws -> Void
    ) async throws {
        try await DocumentTests.opening("a.txt", options) { mount, document in
            await document.edit("mine\n")
            try mount.run(script)
            try await DocumentTests.until("it is in conflict") { await document.documentState == .inConflict }
            try await body(mount, document)
        }
    }

    private func conflicts(_ mount: MountedStore) throws -> [ConflictStatus] {
        let result = try mount.hydrant(["conflicts", "--json", mount.mountPoint])
        return try JSONDecoder().decode([ConflictStatus].self, from: Data(result.stdout.utf8))
    }

    private func isOver(_ mount: MountedStore, _ document: TextDocument) async throws {
        try await DocumentTests.until("the conflict is over") { await document.documentState == .normal }
        #expect(await document.unresolvedConflictVersions.isEmpty)
        #expect(try conflicts(mount).isEmpty)
    }

    private func copies(_ mount: MountedStore) throws -> String {
        try mount.run("cat a*conflicted* 2>/dev/null || true")
    }

    @Test(
        "with unsaved changes both versions are visible to everybody; later edits are saved as well",
        arguments: [
            "echo theirs > a.txt", "echo theirs > tmp; mv tmp a.txt", "echo theirs > \"$STORE/a.txt\"",
            "\"$HYDRANT\" coordinate --write a.txt -- sh -c 'echo theirs > a.txt'",
        ])
    func both(_ script: String) async throws {
        try await conflict(writing: script) { mount, document in
            let versions = await document.unresolvedConflictVersions
            let version = try #require(versions.first)
            #expect(versions.count == 1 && version.isOwn && version.explanation.contains("while"))
            #expect(await document.has { $0.text == "mine\n" && !$0.hasUnsavedChanges && $0.loads == 1 })
            #expect(try FileCoordinatorTests.text(version.url) == "mine\n")
            #expect(try mount.run("cat a.txt") == "theirs\n")
            let listed = try conflicts(mount)
            #expect(listed.map(\.original) == [mount.mountPoint + "/a.txt"])
            #expect(listed.map(\.copy) == [version.url.path(percentEncoded: false)])
            #expect(listed.map(\.reason) == ["editedMeanwhile"])
            await document.edit("mine, and more\n")
            try await document.autosaveIfNeeded()
            #expect(try FileCoordinatorTests.text(version.url) == "mine, and more\n")
            #expect(try mount.run("cat a.txt") == "theirs\n")
            // He goes on as well: there is one conflict, not a second one.
            try mount.run("echo 'theirs, and more' > a.txt")
            await document.edit("mine, at last\n")
            try await document.close()
            #expect(try mount.run("cat a.txt a*conflicted*") == "theirs, and more\nmine, at last\n")
            // Opened again it is still there, as one like any other.
            try await document.open()
            #expect(await document.has { $0.documentState == .inConflict && $0.text == "theirs, and more\n" })
            #expect(await document.unresolvedConflictVersions.map(\.isOwn) == [false])
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("both sides save at the same moment: a save does not overwrite a version it has not seen")
    func seenWhenSaving() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            await document.edit("mine\n")
            try mount.run("echo theirs > a.txt")
            try await document.save(to: document.fileURL, for: .forOverwriting)
            #expect(await document.documentState == .inConflict)
            #expect(try mount.run("cat a.txt a*conflicted*") == "theirs\nmine\n")
        }
    }

    @Test("no conflict: the same change on both sides, or only another date")
    func noConflict() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            await document.edit("the same\n")
            try mount.run("echo 'the same' > a.txt")
            try await DocumentTests.until("it is as in the file") { await !document.hasUnsavedChanges }
            await document.edit("more\n")
            try mount.run("touch a.txt; chmod 600 a.txt; setfattr -n user.a -v b a.txt")
            try await document.autosaveIfNeeded()
            #expect(await document.documentState == .normal)
            #expect(
                try mount.run("cat a.txt; ls; getfattr -n user.a --only-values a.txt")
                    == "more\na.txt\nb.txt\nfolder\nb")
        }
    }

    @Test("mine: the file gets this version, as the same document of the store, also while the store is away")
    func mine() async throws {
        try await conflict { mount, document in
            let identifier = try mount.status("a.txt").identifier
            await document.edit("mine, at last\n")
            try mount.run("mv \"$STORE\" \"$STORE.away\"")
            try await document.resolveConflict(keeping: .mine)
            try await isOver(mount, document)
            #expect(await document.has { $0.text == "mine, at last\n" && !$0.hasUnsavedChanges })
            #expect(try mount.run("cat a.txt; ls") == "mine, at last\na.txt\nb.txt\nfolder\n")
            try mount.run("mv \"$STORE.away\" \"$STORE\"")
            try mount.sync()
            #expect(try mount.status("a.txt").identifier == identifier)
            try mount.requireSameAsStore()
            // It goes on as ever.
            await document.edit("later\n")
            try await document.autosaveIfNeeded()
            #expect(try mount.run("cat a.txt") == "later\n")
        }
    }

    @Test("theirs: the file stays, and is loaded")
    func theirs() async throws {
        try await conflict { mount, document in
            try await document.resolveConflict(keeping: .theirs)
            try await isOver(mount, document)
            #expect(await document.has { $0.text == "theirs\n" && $0.loads == 2 && !$0.hasUnsavedChanges })
            #expect(try mount.run("cat a.txt; ls") == "theirs\na.txt\nb.txt\nfolder\n")
            #expect(await thrown { try await document.resolveConflict(keeping: .theirs) } == .noConflict)
        }
    }

    private func thrown(_ body: () async throws -> Void) async -> DocumentError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? DocumentError)?.code }
    }

    @Test("both: both stay, and the document is the file")
    func keepingBoth() async throws {
        try await conflict { mount, document in
            await document.edit("mine, not saved\n")
            try await document.resolveConflict(keeping: .both)
            try await isOver(mount, document)
            #expect(await document.text == "theirs\n")
            #expect(try mount.run("cat a.txt a*conflicted*") == "theirs\nmine, not saved\n")
        }
    }

    @Test("another program resolves the conflict with hydrant resolve", arguments: ["mine", "theirs", "both"])
    func resolvedElsewhere(_ kept: String) async throws {
        try await conflict { mount, document in
            try mount.sync()
            let loads = await document.loads
            try mount.run("\"$HYDRANT\" resolve --keep \(kept) a.txt")
            try await isOver(mount, document)
            let wanted = kept == "mine" ? "mine\n" : "theirs\n"
            try await DocumentTests.until("it shows what was chosen") { await document.text == wanted }
            #expect(await document.loads == (kept == "mine" ? loads : loads + 1))
            #expect(try copies(mount) == (kept == "both" ? "mine\n" : ""))
            await document.edit("later\n")
            try await document.autosaveIfNeeded()
            #expect(try mount.run("cat a.txt") == "later\n")
        }
    }

    @Test("the daemon's conflict is the document's: the save here met a new version of the store")
    func daemons() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            try mount.run("\"$HYDRANT\" pause \"$MOUNT\"")
            await document.edit("mine\n")
            try await document.autosaveIfNeeded()
            try mount.run("echo 'theirs, longer' > \"$STORE/a.txt\"; \"$HYDRANT\" resume \"$MOUNT\"")
            try mount.run("\"$HYDRANT\" sync \"$MOUNT\" || true")
            try await DocumentTests.until("it is in conflict, and shows the file") {
                await document.has { $0.documentState == .inConflict && $0.text == "theirs, longer\n" }
            }
            let version = try #require(await document.unresolvedConflictVersions.first)
            #expect(!version.isOwn)
            #expect(try FileCoordinatorTests.text(version.url) == "mine\n")
            try mount.sync()
            try await document.resolveConflict(keeping: .mine, of: version)
            try await DocumentTests.until("it shows what was chosen") {
                await document.has { $0.documentState == .normal && $0.text == "mine\n" }
            }
            try mount.sync()
            #expect(try mount.run("cd \"$STORE\"; cat a.txt; ls") == "mine\na.txt\nb.txt\nfolder\n")
        }
    }

    @Test(
        "two programs on one document: the first save gets the file, the other program keeps its version, both know"
    )
    func twoDocuments() async throws {
        try await DocumentTests.opening("a.txt") { mount, first in
            let second = await DocumentTests.document(mount, "a.txt")
            try await second.open()
            await first.edit("first's\n")
            await second.edit("second's\n")
            try await second.autosaveIfNeeded()
            try await DocumentTests.until("the first is in conflict") { await first.documentState == .inConflict }
            try await DocumentTests.until("the second knows") { await second.documentState == .inConflict }
            #expect(await first.unresolvedConflictVersions.map(\.isOwn) == [true])
            #expect(await second.unresolvedConflictVersions.map(\.isOwn) == [false])
            #expect(await second.text == "second's\n")
            try mount.sync()
            try await second.resolveConflict(keeping: .mine)
            for document in [first, second] {
                try await isOver(mount, document)
                try await DocumentTests.until("both show it") { await document.text == "first's\n" }
            }
            // Without a conflict they follow each other.
            await first.edit("again\n")
            try await first.autosaveIfNeeded()
            try await DocumentTests.until("the second follows") { await second.text == "again\n" }
            #expect(try copies(mount) == "")
            try await second.close()
        }
    }
}
