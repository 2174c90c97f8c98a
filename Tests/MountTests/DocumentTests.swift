import ControlAPI
import Documents
import FileCoordination
import Foundation
import MountHarness
import Testing
import UniformTypes

/// A text, as a program would have it.
@MainActor
final class TextDocument: Document {
    private(set) var text = ""
    private(set) var loads = 0
    private(set) var errors: [String] = []
    var refusal: String?
    var attributes = DocumentAttributes()

    override func contents(forType type: UniformType) throws -> DocumentContents {
        if let refusal { throw HarnessError(refusal) }
        return .data(Data(text.utf8))
    }

    override func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        guard let data = contents.data else { throw HarnessError("a folder") }
        text = String(decoding: data, as: UTF8.self)
        loads += 1
    }

    override func fileAttributesToWrite(to url: URL, for operation: SaveOperation) throws -> DocumentAttributes {
        attributes
    }

    func has(_ condition: @MainActor (TextDocument) -> Bool) -> Bool { condition(self) }

    override func handleError(_ error: any Error) async { errors.append("\(error)") }

    func edit(_ text: String) {
        self.text = text
        updateChangeCount(.done)
    }

    func set(refusal: String?) { self.refusal = refusal }
    func set(attributes: DocumentAttributes) { self.attributes = attributes }
    func set(autosaveDelay: Duration?) { self.autosaveDelay = autosaveDelay }
    func set(mostBytes: Int) { self.mostBytes = mostBytes }
}

/// What a document has told since this was made.
@MainActor
final class Heard {
    private(set) var all: [DocumentNotification] = []
    var states: [DocumentState] {
        all.compactMap { if case .stateChanged(let state) = $0 { state } else { nil } }
    }
    var progress: [DownloadProgress] { all.compactMap { if case .progress(let now) = $0 { now } else { nil } } }
    var isDeleted: Bool { all.contains { if case .deleted = $0 { true } else { false } } }

    init(_ document: Document) {
        let notifications = document.notifications()
        Task { for await notification in notifications { all.append(notification) } }
    }
}

@MainActor
final class HeardStates {
    private(set) var all: [DocumentState] = []
    private(set) var hasEnded = false

    init(_ states: AsyncStream<DocumentState>) {
        Task {
            for await state in states { all.append(state) }
            hasEnded = true
        }
    }
}

/// Documents of a program that is not the daemon's, and other processes around it.
@Suite("Documents at a real mount")
struct DocumentTests {
    static func with(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore) async throws -> Void
    ) async throws { try await FileCoordinatorTests.withDomain(options, body) }

    static func document(_ mount: MountedStore, _ path: String) async -> TextDocument {
        let document = await TextDocument(fileURL: FileCoordinatorTests.url(mount, path))
        // Nothing is saved by itself unless a test wants that.
        await document.set(autosaveDelay: nil)
        return document
    }

    /// Opened for the body, and closed.
    static func opening(
        _ path: String, _ options: MountOptions = MountOptions(),
        _ body: @escaping @Sendable (MountedStore, TextDocument) async throws -> Void
    ) async throws {
        try await with(options) { mount in
            let document = await document(mount, path)
            try await document.open()
            let result: Result<Void, any Error>
            do { result = .success(try await body(mount, document)) } catch { result = .failure(error) }
            try? await document.close(savingChanges: false)
            try result.get()
        }
    }

    static func until(_ what: String, seconds: Double = 15, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(bound(seconds))
        while try await !condition() {
            if ContinuousClock.now > deadline { throw HarnessError("not within \(bound(seconds)) s: \(what)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func code(_ body: () async throws -> Void) async -> DocumentError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? DocumentError)?.code }
    }

    // MARK: Open and close

    @Test("opening downloads the document and sets its properties; a closed document follows nothing")
    func opens() async throws {
        try await Self.with { mount in
            let document = await Self.document(mount, "a.txt")
            #expect(await document.documentState == .closed)
            try await document.open()
            #expect(await document.documentState == .normal)
            #expect(await document.text == "first\n")
            #expect(await document.fileType == UniformType("public.plain-text"))
            #expect(await document.localizedName == "a")
            let date = try FileManager.default.attributesOfItem(atPath: mount.mountPoint + "/a.txt")[.modificationDate]
            let shown = try #require(await document.fileModificationDate)
            #expect(abs(shown.timeIntervalSince(try #require(date as? Date))) < 0.001)
            #expect(try mount.status("a.txt").state == .downloaded)
            #expect(await code { try await document.open() } == .alreadyOpen)
            try await document.close()
            #expect(await document.documentState == .closed)
            try mount.run("echo other > a.txt")
            #expect(await code { try await document.move(to: FileCoordinatorTests.url(mount, "c")) } == .notOpen)
            try await document.open()
            #expect(await document.text == "other\n")
            try await document.close()
        }
    }

    @Test("a missing, a too large and an invalid document report an error, and stay closed")
    func refusesToOpen() async throws {
        try await Self.with { mount in
            try mount.run("mkfifo pipe; ln -s a.txt link")
            let missing = await Self.document(mount, "no.txt")
            #expect(await code { try await missing.open() } == .missing)
            #expect(await missing.documentState == .closed)
            let large = await Self.document(mount, "a.txt")
            await large.set(mostBytes: 5)
            #expect(await code { try await large.open() } == .tooLarge)
            let pipe = await Self.document(mount, "pipe")
            #expect(await code { try await pipe.open() } == .unreadable)
            // A link is the document that it leads to.
            let link = await Self.document(mount, "link")
            try await link.open()
            #expect(await link.fileURL.lastPathComponent == "a.txt")
            await link.edit("through the link\n")
            try await link.close()
            #expect(try mount.run("readlink link; cat a.txt") == "a.txt\nthrough the link\n")
        }
    }

    @Test("opening reports its download as progress, and the main actor stays free")
    func progress() async throws {
        try await Self.with(.with { $0.limit = 90 }) { mount in
            try Seeding(mount.store).file("large.txt", String(repeating: "0123456789abcdef", count: 20_000))
            try mount.run("ls >/dev/null")
            try mount.run("\"$HYDRANT\" limit --download 160K \"$MOUNT\"")
            let document = await Self.document(mount, "large.txt")
            let heard = await Heard(document)
            try await document.open()
            try await Self.until("it is told") { await heard.states.last == .normal }
            #expect(await heard.states.contains { $0.contains(.progressAvailable) })
            let seen = await heard.progress
            let bytes = seen.map(\.bytes)
            #expect(seen.allSatisfy { $0.totalBytes == 320_000 } && bytes == bytes.sorted())
            #expect(seen.contains { $0.fractionCompleted > 0.1 && $0.fractionCompleted < 0.95 }, "\(bytes)")
            #expect(await document.has { $0.progress == nil && $0.text.utf8.count == 320_000 })
            try await document.close()
        }
    }

    @Test("a cancelled open ends, and the document is closed")
    func cancelled() async throws {
        try await Self.with { mount in
            try Seeding(mount.store).file("large.txt", String(repeating: "0123456789abcdef", count: 20_000))
            try mount.run("ls >/dev/null; \"$HYDRANT\" limit --download 2K \"$MOUNT\"")
            let document = await Self.document(mount, "large.txt")
            let opening = Task { try await document.open() }
            try await Self.until("it downloads") { await document.documentState.contains(.progressAvailable) }
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
            #expect(await document.documentState == .closed)
            try mount.run("\"$HYDRANT\" limit --download none \"$MOUNT\"")
        }
    }

    // MARK: Saving

    @Test("a save keeps the store's document, its mode and its attributes; others read whole contents")
    func saves() async throws {
        try await Self.opening("a.txt") { mount, document in
            try mount.run("chmod 640 a.txt; setfattr -n user.colour -v blue a.txt; setfattr -n user.old -v x a.txt")
            try mount.sync()
            let identifier = try mount.status("a.txt").identifier
            let mode = try mount.run("stat -c %a a.txt")
            let long = String(repeating: "0123456789abcdef\n", count: 60_000)
            let reader = try mount.start(
                """
                while [ ! -e "$SCRATCH/stop" ]; do
                  size=$(wc -c < a.txt)
                  case $size in 6|1020000|3) ;; *) echo "half: $size"; esac
                done
                """)
            for round in 0..<10 {
                await document.edit(round % 2 == 0 ? long : "no\n")
                try await document.save(to: document.fileURL, for: .forOverwriting)
                #expect(await !document.hasUnsavedChanges)
            }
            await document.set(
                attributes: DocumentAttributes(
                    tags: ["red", "letter"], extendedAttributes: ["user.old": nil, "user.made": Data("new".utf8)]))
            await document.edit(long)
            try await document.save(to: document.fileURL, for: .forOverwriting)
            try mount.run("touch \"$SCRATCH/stop\"")
            #expect(reader.wait(limit: 20).stdout == "")
            #expect(try mount.run("stat -c %a a.txt") == mode)
            #expect(
                try mount.run("getfattr -d a.txt | sort") == """

                    # file: a.txt
                    user.colour="blue"
                    user.made="new"
                    user.xdg.tags="red,letter"

                    """)
            #expect(await document.loads == 1, "its own saves are no news")
            try mount.sync()
            #expect(try mount.status("a.txt").identifier == identifier)
            #expect(try mount.run("ls -A; wc -c < \"$STORE/a.txt\"") == "a.txt\nb.txt\nfolder\n1020000\n")
        }
    }

    @Test("creating a document does not replace another; the new one is open, and its name gives its type")
    func creates() async throws {
        try await Self.with { mount in
            let document = await Self.document(mount, "new.md")
            await document.edit("made\n")
            #expect(
                await code { try await document.save(to: FileCoordinatorTests.url(mount, "a.txt"), for: .forCreating) }
                    == .exists)
            #expect(await document.documentState == [.closed, .savingError])
            #expect(try mount.run("cat a.txt") == "first\n")
            try await document.save(to: document.fileURL, for: .forCreating)
            #expect(await document.has { $0.documentState == .normal && !$0.hasUnsavedChanges })
            #expect(await document.fileType == UniformType("net.daringfireball.markdown"))
            // It is followed.
            try mount.run("\"$HYDRANT\" coordinate --write new.md -- sh -c 'echo others > new.md'")
            try await Self.until("it is loaded") { await document.text == "others\n" }
            // As another one: from then on that is the document.
            let other = FileCoordinatorTests.url(mount, "folder/other.txt")
            await document.edit("elsewhere\n")
            try await document.save(to: other, for: .forCreating)
            #expect(await document.fileURL == other)
            await document.edit("elsewhere, again\n")
            try await document.close()
            #expect(try mount.run("cat new.md folder/other.txt") == "others\nelsewhere, again\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a document is autosaved some time after a change, and at close")
    func autosaves() async throws {
        try await Self.opening("a.txt") { mount, document in
            await document.set(autosaveDelay: .milliseconds(200))
            await document.edit("once\n")
            #expect(await document.hasUnsavedChanges)
            #expect(try mount.run("cat a.txt") == "first\n")
            // Who goes on typing does not put it off for ever.
            for round in 0..<60 {
                await document.edit("typed \(round)\n")
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try mount.run("cat a.txt").hasPrefix("typed "))
            try await Self.until("it is saved") { await !document.hasUnsavedChanges }
            #expect(try mount.run("cat a.txt") == "typed 59\n")
            await document.set(autosaveDelay: nil)
            await document.edit("at the end\n")
            try await document.close()
            #expect(try mount.run("cat a.txt") == "at the end\n")
            try await document.open()
            await document.edit("given up\n")
            try await document.close(savingChanges: false)
            #expect(try mount.run("cat a.txt") == "at the end\n")
        }
    }

    @Test("changes are counted, undo included")
    func counts() async throws {
        try await Self.opening("a.txt") { mount, document in
            await document.edit("one\n")
            await document.updateChangeCount(.undone)
            #expect(await !document.hasUnsavedChanges)
            await document.updateChangeCount(.redone)
            #expect(await document.hasUnsavedChanges)
            try await document.autosaveIfNeeded()
            // Behind what was saved, and on another branch to the same count.
            await document.updateChangeCount(.undone)
            #expect(await document.hasUnsavedChanges)
            await document.edit("two\n")
            #expect(await document.hasUnsavedChanges)
            await document.updateChangeCount(.cleared)
            #expect(await !document.hasUnsavedChanges)
        }
    }

    @Test("a failed save sets a state and an error, is tried again by itself, and loses nothing")
    func savingError() async throws {
        try await Self.opening("a.txt") { mount, document in
            await document.set(refusal: "not today")
            await document.set(autosaveDelay: .milliseconds(50))
            await document.edit("kept\n")
            try await Self.until("it fails") { await document.documentState == .savingError }
            try await Self.until("the document hears of it") { await document.errors == ["not today"] }
            #expect(await document.has { $0.lastError != nil && $0.hasUnsavedChanges })
            await #expect(throws: HarnessError.self) { try await document.close() }
            #expect(await document.documentState == .savingError, "it is open still")
            await document.set(refusal: nil)
            try await Self.until("it is saved", seconds: 30) { await document.documentState == .normal }
            #expect(try mount.run("cat a.txt") == "kept\n")
            #expect(await document.lastError == nil)
        }
    }

    // MARK: Others

    @Test("another program's read gets the unsaved changes")
    func savesForReaders() async throws {
        try await Self.opening("a.txt") { mount, document in
            await document.edit("not saved yet\n")
            let read = try mount.run("\"$HYDRANT\" coordinate --read a.txt -- cat {}")
            #expect(read == "not saved yet\n")
            #expect(await !document.hasUnsavedChanges)
        }
    }

    @Test("editing is disabled during another program's write, whose result is loaded then")
    func disablesEditing() async throws {
        try await Self.opening("a.txt") { mount, document in
            let heard = await Heard(document)
            let writer = try mount.start(
                """
                "$HYDRANT" coordinate --write a.txt -- \
                  sh -c 'touch "$SCRATCH/has"; until [ -e "$SCRATCH/go" ]; do sleep 0.02; done; echo his > a.txt'
                """)
            try waitUntil(10, "he has it") { FileManager.default.fileExists(atPath: mount.scratch + "/has") }
            #expect(await document.documentState == .editingDisabled)
            try mount.run("touch \"$SCRATCH/go\"")
            #expect(writer.wait(limit: 20).succeeded)
            try await Self.until("it may be edited again") { await document.documentState == .normal }
            try await Self.until("it is told") { await heard.states == [.editingDisabled, .normal] }
            #expect(await document.text == "his\n", "it is there when editing is allowed again")
            #expect(await document.has { !$0.hasUnsavedChanges && $0.loads == 2 })
        }
    }

    @Test("without unsaved changes a new version is loaded: of a shell, of an editor that renames, of the store")
    func loadsNewVersions() async throws {
        try await Self.opening("a.txt") { mount, document in
            func expect(_ text: String, after script: String) async throws {
                try mount.run(script)
                try await Self.until("“\(script)” is loaded") { await document.text == text }
            }
            try await expect("shell\n", after: "echo shell > a.txt")
            try await expect("renamed\n", after: "echo renamed > tmp; mv tmp a.txt")
            try await expect("moved away first\n", after: "mv a.txt a.txt~; echo 'moved away first' > a.txt; rm a.txt~")
            try await expect("removed first\n", after: "rm a.txt; echo 'removed first' > a.txt")
            try mount.sync()
            try await expect("the store's\n", after: "echo \"the store's\" > \"$STORE/a.txt\"")
            // Nothing new in it: not loaded.
            let loads = await document.loads
            try mount.run("touch a.txt; chmod 600 a.txt; cp a.txt tmp; mv tmp a.txt")
            try mount.sync()
            try await expect("last\n", after: "echo last > a.txt")
            #expect(await document.loads == loads + 1)
            #expect(await document.has { $0.documentState == .normal && $0.errors.isEmpty })
            await document.edit("own\n")
            try await document.close()
            #expect(try mount.run("cat a.txt; ls") == "own\na.txt\nb.txt\nfolder\n")
        }
    }

    @Test("after a move by any program, the URL follows, and saves go there")
    func follows() async throws {
        try await Self.opening("a.txt") { mount, document in
            await document.edit("own\n")
            try mount.run("\"$HYDRANT\" coordinate --write a.txt --write c.md --for moving -- mv a.txt c.md")
            try await Self.until("it follows") { await document.fileURL.lastPathComponent == "c.md" }
            #expect(try mount.run("cat c.md") == "own\n", "it was asked to save first")
            try await Self.until("its type follows") {
                await document.fileType?.identifier == "net.daringfireball.markdown"
            }
            // Without a word before, and saved at once.
            await document.edit("own, later\n")
            try mount.run("mv c.md folder/d.txt")
            try await document.autosaveIfNeeded()
            #expect(try mount.run("cat folder/d.txt; ls") == "own, later\nb.txt\nfolder\n")
            try mount.sync()
            try mount.run("mv \"$STORE/folder/d.txt\" \"$STORE/e.txt\"")
            try await Self.until("it follows the store") { await document.fileURL.lastPathComponent == "e.txt" }
            #expect(await document.documentState == .normal)
        }
    }

    @Test("after a deletion by any program, the document closes and says so; unsaved changes can be saved elsewhere")
    func accommodatesDeletion() async throws {
        for script in [
            "\"$HYDRANT\" coordinate --write a.txt --for deleting -- rm {}", "rm a.txt", "rm \"$STORE/a.txt\"",
        ] {
            try await Self.opening("a.txt") { mount, document in
                let heard = await Heard(document)
                await document.set(autosaveDelay: .milliseconds(50))
                if !script.contains("STORE") {
                    await document.set(autosaveDelay: .seconds(3_600))
                    await document.edit("not saved\n")
                }
                try mount.run(script)
                try await Self.until("it is told") { await heard.isDeleted }
                #expect(await document.documentState == .closed)
                #expect(try mount.run("ls") == "b.txt\nfolder\n", "\(script): it is not made anew")
                guard await document.hasUnsavedChanges else { return }
                try await document.save(to: FileCoordinatorTests.url(mount, "saved.txt"), for: .forCreating)
                #expect(try mount.run("cat saved.txt") == "not saved\n")
            }
        }
    }

    @Test("the program itself moves the document, deletes it, and reverts to the file")
    func ownMoves() async throws {
        try await Self.opening("a.txt") { mount, document in
            let identifier = try mount.status("a.txt").identifier
            await document.edit("given up\n")
            try await document.revert(toContentsOf: document.fileURL)
            #expect(await document.has { $0.text == "first\n" && !$0.hasUnsavedChanges })
            // Another document's contents are a change of this one.
            try await document.revert(toContentsOf: FileCoordinatorTests.url(mount, "b.txt"))
            #expect(await document.has { $0.text == "second\n" && $0.hasUnsavedChanges })
            #expect(await code { try await document.move(to: FileCoordinatorTests.url(mount, "b.txt")) } == .exists)
            try await document.move(to: FileCoordinatorTests.url(mount, "folder/new.md"))
            #expect(await document.fileURL.lastPathComponent == "new.md")
            try await document.autosaveIfNeeded()
            #expect(try mount.run("cat folder/new.md; ls") == "second\nb.txt\nfolder\n")
            #expect(try mount.status("folder/new.md").identifier == identifier)
            #expect(await document.fileType?.identifier == "net.daringfireball.markdown")
            // Others who show it are asked.
            let other = try mount.start("exec \"$HYDRANT\" present folder/new.md")
            try waitUntil(10, "he shows it") { other.stdout.contains("registered") }
            try await document.delete()
            try waitUntil(10, "he was asked") { other.stdout.contains("accommodateDeletion") }
            kill(other.pid, SIGTERM)
            #expect(await document.documentState == .closed)
            #expect(try mount.run("ls folder") == "in.txt\n")
        }
    }

    @Test("the program in the documentation is the one that is built, and works as described")
    func documentedProgram() async throws {
        let root = URL(filePath: #filePath, directoryHint: .notDirectory).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let program = try String(contentsOf: root.appending(path: "Sources/Examples/Jot/Jot.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: root.appending(path: "Sources/Documents/Documentation.docc/Documents.md"), encoding: .utf8)
        #expect(page.contains("```swift\n" + program + "```"))
        try await Self.with { mount in
            let shown = try mount.run(
                """
                jot="$(dirname "$HYDRANT")/hydrant-jot"
                "$jot" list.txt buy milk; "$jot" list.txt >"$SCRATCH/out" & pid=$!
                until grep -q "list (normal): buy milk" "$SCRATCH/out"; do sleep 0.05; done
                "$jot" list.txt sell eggs; until grep -q "sell eggs" "$SCRATCH/out"; do sleep 0.05; done
                rm list.txt; wait $pid; tail -n 1 "$SCRATCH/out"
                """)
            #expect(shown == "list (editing disabled): sell eggs\n" || shown == "list (closed): sell eggs\n")
        }
    }

    @Test(
        "a picture saved with the document becomes its thumbnail, in the store as well; an invalid picture is not kept"
    )
    func thumbnail() async throws {
        try await Self.opening("a.txt") { mount, document in
            try mount.run(TestPicture.shell + "picture 64 64 ff0000 \"$SCRATCH/red.png\"")
            let red = URL(filePath: mount.scratch + "/red.png", directoryHint: .notDirectory)
            await document.set(attributes: DocumentAttributes(thumbnail: .file(red)))
            await document.edit("pictured\n")
            try await document.autosaveIfNeeded()
            #expect(await document.lastError == nil)
            try mount.sync()
            let kept = try mount.run(
                "\"$HYDRANT\" thumbnail a.txt --output \"$SCRATCH/shown.png\" >/dev/null; cat \"$STORE/a.txt\"")
            #expect(kept == "pictured\n")
            let shown = try Data(contentsOf: URL(filePath: mount.scratch + "/shown.png", directoryHint: .notDirectory))
            #expect(shown.starts(with: [0x89, 0x50, 0x4e, 0x47]))
            // The same by its bytes.
            await document.set(attributes: DocumentAttributes(thumbnail: .png(try Data(contentsOf: red))))
            await document.edit("pictured again\n")
            try await document.autosaveIfNeeded()
            #expect(await document.lastError == nil)
            // The document is saved, whatever becomes of the picture.
            await document.set(attributes: DocumentAttributes(thumbnail: .png(Data("no picture".utf8))))
            await document.edit("saved all the same\n")
            try await document.autosaveIfNeeded()
            #expect(await document.lastError != nil)
            #expect(try mount.run("cat a.txt") == "saved all the same\n")
        }
    }

    @Test("a document with a right is used in its scoped folder from opening to closing, through renames")
    func scoped() async throws {
        try await Self.with { mount in
            let bookmark = try await Bookmark.make(
                of: FileCoordinatorTests.url(mount, "a.txt"), scope: SecurityScope(.write))
            let scoped = try #require(try await bookmark.resolve().scopedURL)
            let document = await TextDocument(scopedURL: scoped)
            await document.set(autosaveDelay: nil)
            for round in 1...2 {
                try await document.open()
                #expect(await document.fileURL.path(percentEncoded: false).contains("/hydrant/scoped/"))
                await document.edit("by right \(round)\n")
                try await document.autosaveIfNeeded()
                #expect(try mount.run("cat \(round == 1 ? "a" : "moved").txt") == "by right \(round)\n")
                if round == 1 {
                    try mount.run("mv a.txt moved.txt")
                    try mount.run("echo others > moved.txt")
                    try await Self.until("it is loaded") { await document.text == "others\n" }
                    await document.edit("mine\n")
                    try mount.run("echo theirs > moved.txt")
                    try await Self.until("both are there") { await document.documentState == .inConflict }
                    #expect(try mount.run("cat moved.txt; cat *conflicted*") == "theirs\nmine\n")
                    try await document.resolveConflict(keeping: .mine)
                    #expect(try mount.run("cat moved.txt; ls") == "mine\nb.txt\nfolder\nmoved.txt\n")
                }
                try await document.close()
                let scopes = try FileManager.default.contentsOfDirectory(
                    atPath: mount.sandbox.runtime + "/hydrant/scoped")
                #expect(scopes == [], "the right is not used any more")
            }
        }
    }

    @Test("over an unmount or a killed daemon: changes made meanwhile are loaded, and the document goes on")
    func restarts() async throws {
        try await Self.opening("a.txt") { mount, document in
            try mount.unmount()
            try mount.run("echo meanwhile > \"$STORE/a.txt\"")
            try mount.mount()
            try await Self.until("it is loaded") { await document.text == "meanwhile\n" }
            await document.set(autosaveDelay: .milliseconds(50))
            try mount.kill9()
            await document.edit("while nobody was there\n")
            try await Self.until("it cannot be saved") { await document.documentState.contains(.savingError) }
            try mount.mount()
            try await Self.until("it is saved", seconds: 30) { await document.documentState == .normal }
            #expect(try mount.run("cat a.txt") == "while nobody was there\n")
            try mount.run("echo later > a.txt")
            try await Self.until("it is loaded") { await document.text == "later\n" }
        }
    }

    @Test("the stream of states starts with the current one, has each change, and ends with the document")
    func states() async throws {
        try await Self.with { mount in
            var document: TextDocument? = await Self.document(mount, "a.txt")
            let heard = await HeardStates(document!.stateChanges())
            try await document?.open()
            try await document?.close()
            let wanted: [DocumentState] = [.closed, [.closed, .editingDisabled], .normal, .closed]
            try await Self.until("all are told") { await heard.all == wanted }
            document = nil
            try await Self.until("it ends") { await heard.hasEnded }
        }
    }
}
