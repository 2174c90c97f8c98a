import ControlAPI
import Documents
import FileCoordination
import FileProviderTesting
import Foundation
import MountHarness
import Testing
import UniformTypes

/// A folder of texts that is one document.
@MainActor
final class PackageDocument: Document {
    private(set) var files: [String: String] = [:]
    private(set) var loads = 0

    override func contents(forType type: UniformType) throws -> DocumentContents {
        var root: [String: DocumentContents] = [:]
        var inner: [String: DocumentContents] = [:]
        for (path, text) in files {
            let contents = DocumentContents.data(Data(text.utf8))
            if path.hasPrefix("pages/") { inner[String(path.dropFirst(6))] = contents } else { root[path] = contents }
        }
        if !inner.isEmpty { root["pages"] = .package(inner) }
        return .package(root)
    }

    override func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        func text(_ contents: DocumentContents) -> String? { contents.data.map { String(decoding: $0, as: UTF8.self) } }
        var found: [String: String] = [:]
        for (name, child) in contents.children ?? [:] {
            found[name] = text(child)
            for (inner, child) in child.children ?? [:] { found[name + "/" + inner] = text(child) }
        }
        files = found
        loads += 1
    }

    func edit(_ change: @MainActor @Sendable (inout [String: String]) -> Void) {
        change(&files)
        updateChangeCount(.done)
    }

    func set(autosaveDelay: Duration?) { self.autosaveDelay = autosaveDelay }
}

@Suite("Documents that are folders, at a real mount")
struct PackageDocumentTests {
    private func making(
        _ options: MountOptions = MountOptions(),
        _ body: @escaping @Sendable (MountedStore, PackageDocument) async throws -> Void
    ) async throws {
        try await DocumentTests.with(options) { mount in
            let document = await PackageDocument(fileURL: FileCoordinatorTests.url(mount, "book.note"))
            await document.set(autosaveDelay: nil)
            await document.edit {
                $0 = ["index": "contents\n", "pages/1": "one\n", "pages/2": "two\n", "pages/3": "three\n"]
            }
            try await document.save(to: document.fileURL, for: .forCreating)
            let result: Result<Void, any Error>
            do { result = .success(try await body(mount, document)) } catch { result = .failure(error) }
            try? await document.close(savingChanges: false)
            try result.get()
        }
    }

    private func identifiers(_ mount: MountedStore) throws -> [String?] {
        try mount.statuses(["book.note", "book.note/index", "book.note/pages", "book.note/pages/1"]).map(\.identifier)
    }

    @Test("made, opened and saved: unchanged files are not sent again, and all files stay the same documents")
    func saves() async throws {
        try await making { mount, document in
            #expect(await document.documentState == .normal)
            #expect(await document.fileType?.identifier == "public.folder")
            try mount.sync()
            try mount.requireSameAsStore()
            let before = try identifiers(mount)
            #expect(!before.contains(nil))
            try mount.run("chmod 600 book.note/pages/1; setfattr -n user.a -v b book.note/pages/1")
            try mount.sync()
            let inode = try mount.run("stat -c %i book.note/pages/2")
            mount.forgetCalls()
            await document.edit {
                $0["pages/1"] = "one, rewritten\n"
                $0["pages/3"] = nil
                $0["pages/4"] = "four\n"
            }
            try await document.autosaveIfNeeded()
            #expect(
                try mount.run("cd book.note; cat pages/*; ls; ls -a .. | grep -c scoped || true")
                    == "one, rewritten\ntwo\nfour\nindex\npages\n0\n")
            try mount.sync()
            try mount.requireSameAsStore()
            #expect(try identifiers(mount) == before)
            #expect(try mount.run("stat -c %i book.note/pages/2") == inode)
            #expect(
                try mount.run("stat -c %a book.note/pages/1; getfattr -n user.a --only-values book.note/pages/1")
                    == "600\nb")
            let calls = mount.hookCalls().map(\.hook)
            #expect(calls.filter { $0 == .itemChanged }.count == 1 && calls.filter { $0 == .createItem }.count == 1)
            #expect(await document.loads == 0)
        }
    }

    @Test("a coordinated reader sees a save whole or not at all")
    func whole() async throws {
        try await making { mount, document in
            let reader = try mount.start(
                """
                while [ ! -e "$SCRATCH/stop" ]; do
                  "$HYDRANT" coordinate --read book.note --without-changes -- sh -c 'cat book.note/pages/* | sort -u | wc -l'
                done
                """)
            for round in 0..<15 {
                await document.edit { files in
                    for page in ["1", "2", "3"] { files["pages/" + page] = "round \(round)\n" }
                }
                try await document.autosaveIfNeeded()
            }
            try mount.run("touch \"$SCRATCH/stop\"")
            let counts = Set(reader.wait(limit: 20).stdout.split(separator: "\n"))
            #expect(counts.isSubset(of: ["1", "3"]) && counts.contains("1"), "\(counts)")
        }
    }

    @Test("changes of others in a package are loaded: coordinated or not, and the store's")
    func follows() async throws {
        try await making { mount, document in
            try mount.sync()
            func expect(_ path: String, _ text: String?, after script: String) async throws {
                try mount.run(script)
                do {
                    try await DocumentTests.until("“\(script)” is loaded") { await document.files[path] == text }
                } catch {
                    let shown = try mount.run("cd \"$MOUNT\"/*.note; tail -n +1 pages/*").replacing("\n", with: "|")
                    let (state, problem) = await (document.documentState, document.lastError)
                    throw HarnessError("\(error): \(state), \(String(describing: problem)), the mount: \(shown)")
                }
            }
            try await expect(
                "pages/1", "his\n",
                after: "\"$HYDRANT\" coordinate --write book.note/pages/1 -- sh -c 'echo his > book.note/pages/1'")
            try await expect("pages/2", "shell\n", after: "echo shell > book.note/pages/2")
            try await expect("pages/5", "new\n", after: "echo new > book.note/pages/5")
            try await expect("index", nil, after: "rm book.note/index")
            try mount.sync()
            try await expect("pages/5", "the store's\n", after: "echo \"the store's\" > \"$STORE/book.note/pages/5\"")
            try mount.run("mv book.note tome.note")
            try await DocumentTests.until("it follows") { await document.fileURL.lastPathComponent == "tome.note" }
            try await expect("pages/2", "again\n", after: "echo again > tome.note/pages/2")
            #expect(await document.documentState == .normal)
        }
    }

    @Test(
        "in conflict: both versions are there, as folders; mine, theirs",
        arguments: [Document.KeptVersion.mine, .theirs, .both])
    func conflict(_ kept: Document.KeptVersion) async throws {
        try await making { mount, document in
            try mount.sync()
            await document.edit { $0["pages/1"] = "mine\n" }
            try mount.run("echo theirs > book.note/pages/2")
            try await DocumentTests.until("it is in conflict") { await document.documentState == .inConflict }
            #expect(try mount.run("cat book.note/pages/[12]") == "one\ntheirs\n")
            #expect(try mount.run("cat book*conflicted*/pages/[12]") == "mine\ntwo\n")
            #expect(try mount.run("\"$HYDRANT\" conflicts \"$MOUNT\"").contains("book.note\n"))
            try await document.resolveConflict(keeping: kept)
            try await DocumentTests.until("it is over") { await document.documentState == .normal }
            #expect(try mount.run("cat book.note/pages/[12]") == (kept == .mine ? "mine\ntwo\n" : "one\ntheirs\n"))
            #expect(try mount.run("ls -d book*").contains("conflicted") == (kept == .both))
            #expect(await document.files["pages/2"] == (kept == .mine ? "two\n" : "theirs\n"))
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a save replaces files that are placeholders without downloading them")
    func evicted() async throws {
        try await making { mount, document in
            try mount.sync()
            let identifier = try mount.status("book.note/pages/2").identifier
            try mount.run("\"$HYDRANT\" evict book.note")
            #expect(try mount.status("book.note/pages/2").state == .placeholder)
            mount.forgetCalls()
            await document.edit { $0["pages/2"] = "two, rewritten\n" }
            try await document.autosaveIfNeeded()
            try mount.sync()
            #expect(!mount.hookCalls().contains { $0.hook == .startProvidingItem })
            #expect(try mount.run("cat \"$STORE/book.note/pages/2\"") == "two, rewritten\n")
            #expect(try mount.status("book.note/pages/2").identifier == identifier)
            #expect(try mount.status("book.note/pages/1").state == .placeholder)
        }
    }
}
