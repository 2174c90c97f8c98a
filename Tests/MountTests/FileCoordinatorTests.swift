import ControlAPI
import FileCoordination
import FileProviderTesting
import Foundation
import MountHarness
import Synchronization
import Testing

/// Coordinated access in Swift, from a process that is not the daemon's; others use the command.
@Suite("File coordination at a real mount")
struct FileCoordinatorTests {
    static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        try seeding.file("a.txt", "first\n")
        try seeding.file("b.txt", "second\n")
        try seeding.file("folder/in.txt", "inside\n")
    }

    /// With the mount's daemon in reach of this process. The body may block.
    static func withDomain(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore) async throws -> Void
    ) async throws {
        try await withMount(options, seed: seed) { mount in
            let executor = ThreadExecutor()
            defer { executor.finish() }
            try blocking(on: executor) {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) { try await body(mount) }
            }
        }
    }

    static func url(_ mount: MountedStore, _ path: String) -> URL {
        URL(filePath: mount.mountPoint + "/" + path, directoryHint: .notDirectory)
    }

    static func text(_ url: URL) throws -> String { String(decoding: try Data(contentsOf: url), as: UTF8.self) }

    private func claims(_ mount: MountedStore) throws -> [ClaimStatus] {
        let result = try mount.hydrant(["claims", "--json", mount.mountPoint])
        return try JSONDecoder().decode([ClaimStatus].self, from: Data(result.stdout.utf8))
    }

    /// For a shell that holds something until somebody waits for it.
    private static let untilGo = "until [ -e \"$SCRATCH/go\" ]; do sleep 0.05; done;"

    /// Whether another process gets it soon, or does not within a moment.
    private func isFree(_ mount: MountedStore, _ how: String, _ path: String, within seconds: Double = 10) throws
        -> Bool
    {
        let words = ["coordinate", how, mount.mountPoint + "/" + path, "--timeout", "\(seconds)", "--", "true"]
        let status = try mount.hydrant(words).status
        guard status == 0 || status == 75 else { throw HarnessError("\(words): status \(status)") }
        return status == 0
    }

    private func isTaken(_ mount: MountedStore, _ how: String, _ path: String) throws -> Bool {
        try !isFree(mount, how, path, within: 0.3)
    }

    private func refusal(_ body: () async throws -> Void) async -> CoordinationError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? CoordinationError)?.code }
    }

    // MARK: Reading and writing

    @Test("a reader gets the item downloaded first; access to metadata only, reading or writing, downloads nothing")
    func downloads() async throws {
        try await Self.withDomain { mount in
            let coordinator = FileCoordinator()
            let url = Self.url(mount, "a.txt")
            try await coordinator.coordinate(readingItemAt: url, options: .immediatelyAvailableMetadataOnly) {
                (url: URL) async throws in
                #expect(try FileManager.default.attributesOfItem(atPath: url.path())[.size] as? Int == 6)
            }
            try await coordinator.coordinate(writingItemAt: url, options: .contentIndependentMetadataOnly) {
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: $0.path())
            }
            try await coordinator.coordinate(writingItemAt: url) { _ in }
            #expect(try mount.status("a.txt").state == .placeholder)
            let state = try await coordinator.coordinate(readingItemAt: url) { _ in try mount.status("a.txt").state }
            #expect(state == .downloaded)
            try await coordinator.coordinate(writingItemAt: Self.url(mount, "b.txt"), options: .forMerging) {
                (_: URL) async throws in
                #expect(try mount.status("b.txt").state == .downloaded)
            }
        }
    }

    @Test("a failed download is an error for the reader, and holds nothing")
    func failedDownload() async throws {
        try await Self.withDomain { mount in
            try mount.run("ls -lR >/dev/null; mv \"$STORE\" \"$SCRATCH/away\"")
            let code = await refusal {
                try await FileCoordinator().coordinate(readingItemAt: Self.url(mount, "a.txt")) {
                    (_: URL) async throws in
                    _ = Issue.record("the accessor was called")
                }
            }
            #expect(code == .download)
            #expect(try claims(mount) == [])
            try mount.run("cd /; mv \"$SCRATCH/away\" \"$STORE\"")
        }
    }

    @Test("many programs read or one writes; a writer of a folder holds all that is in it")
    func exclusion() async throws {
        try await Self.withDomain { mount in
            let coordinator = FileCoordinator()
            try await coordinator.coordinate(readingItemAt: Self.url(mount, "a.txt")) { (_: URL) async throws in
                #expect(try isFree(mount, "--read", "a.txt"))
                #expect(try isTaken(mount, "--write", "a.txt"))
                #expect(try isFree(mount, "--write", "b.txt"))
            }
            try await coordinator.coordinate(writingItemAt: Self.url(mount, "a.txt")) { (_: URL) async throws in
                #expect(try isTaken(mount, "--read", "a.txt"))
                // (The claim of the program that waited too long goes when the daemon has seen that it has ended.)
                let held = try claims(mount).filter(\.isGranted)
                #expect(held.count == 1 && held[0].writing == [mount.mountPoint + "/a.txt"], "\(held)")
            }
            try await coordinator.coordinate(writingItemAt: Self.url(mount, "folder")) { (_: URL) async throws in
                #expect(try isTaken(mount, "--read", "folder/in.txt"))
            }
            try await coordinator.coordinate(writingItemAt: Self.url(mount, "folder/new.txt")) {
                (url: URL) async throws in
                #expect(try isTaken(mount, "--write", "folder/new.txt"))
                try Data("made\n".utf8).write(to: url)
                // By now it is something.
                #expect(try isTaken(mount, "--write", "folder/new.txt"))
                #expect(try isTaken(mount, "--write", "folder"))
            }
            #expect(try isFree(mount, "--write", "folder"))
            try waitUntil(5, "nobody holds or waits for anything") { try claims(mount) == [] }
        }
    }

    @Test("a symbolic link, and its target")
    func links() async throws {
        try await Self.withDomain { mount in
            try mount.run("ln -s ../a.txt folder/link")
            let coordinator = FileCoordinator()
            let link = Self.url(mount, "folder/link")
            try await coordinator.coordinate(readingItemAt: link) { (url: URL) async throws in
                #expect(url.lastPathComponent == "link")
                #expect(try isFree(mount, "--write", "a.txt"))
            }
            try await coordinator.coordinate(readingItemAt: link, options: .resolvesSymbolicLink) {
                (url: URL) async throws in
                #expect(url == Self.url(mount, "a.txt"))
                #expect(try isTaken(mount, "--write", "a.txt"))
            }
        }
    }

    @Test("for uploading: a copy that stays the same while others write, and is removed afterwards")
    func snapshot() async throws {
        try await Self.withDomain { mount in
            let original = Self.url(mount, "a.txt")
            let copy = try await FileCoordinator().coordinate(readingItemAt: original, options: .forUploading) { copy in
                #expect(copy != original && copy.lastPathComponent == "a.txt")
                // Some program that knows nothing of it.
                try mount.run("echo more >> a.txt; sync")
                #expect(try Self.text(copy) == "first\n")
                #expect(try Self.text(original) == "first\nmore\n")
                return copy
            }
            try waitUntil(5, "the copy is gone") { !FileManager.default.fileExists(atPath: copy.path()) }
        }
    }

    @Test("a folder for uploading: everything in it, downloaded, each document as of one moment")
    func folderSnapshot() async throws {
        try await Self.withDomain { mount in
            try mount.run(
                "mkdir -p folder/below; echo deep > folder/below/deep.txt; ln -s in.txt folder/link; touch folder/.in.txt.swp"
            )
            let copy = try await FileCoordinator().coordinate(
                readingItemAt: Self.url(mount, "folder"), options: .forUploading
            ) { copy in
                try mount.run("echo more >> folder/in.txt; rm folder/below/deep.txt; echo new > folder/new.txt")
                let list = try mount.shell(
                    "cd \(copy.path()) && find . | LC_ALL=C sort && cat in.txt below/deep.txt && readlink link")
                #expect(
                    list.stdout == ".\n./below\n./below/deep.txt\n./in.txt\n./link\ninside\ndeep\nin.txt\n", "\(list)")
                return copy
            }
            try waitUntil(5, "the copy is gone") { !FileManager.default.fileExists(atPath: copy.path()) }
        }
    }

    @Test("an item moved during a wait is granted at its new place")
    func moved() async throws {
        try await Self.withDomain { mount in
            let holder = try mount.start(
                "exec \"$HYDRANT\" coordinate --write a.txt -- sh -c '\(Self.untilGo) mv a.txt folder/moved.txt'")
            try waitUntil(5, "it is held") { try claims(mount).contains(where: \.isGranted) }
            let waiting = Task.detached {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    try await FileCoordinator().coordinate(readingItemAt: Self.url(mount, "a.txt")) {
                        (try Self.text($0), $0)
                    }
                }
            }
            try waitUntil(5, "somebody waits") { try claims(mount).count == 2 }
            try Seeding(mount.scratch).file("go", "")
            let found = try await waiting.value
            #expect(found.0 == "first\n" && found.1 == Self.url(mount, "folder/moved.txt"))
            #expect(holder.wait(limit: 10).succeeded)
        }
    }

    @Test("an item deleted while a writer waits: the writer gets its name, and nobody else")
    func deleted() async throws {
        try await Self.withDomain { mount in
            let holder = try mount.start(
                "exec \"$HYDRANT\" coordinate --write a.txt --for deleting -- sh -c '\(Self.untilGo) rm a.txt'")
            try waitUntil(5, "it is held") { try claims(mount).contains(where: \.isGranted) }
            let waiting = Task.detached {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    try await FileCoordinator().coordinate(writingItemAt: Self.url(mount, "a.txt")) {
                        (url: URL) async throws in
                        #expect(!FileManager.default.fileExists(atPath: url.path()))
                        #expect(try isTaken(mount, "--write", "a.txt"))
                        try Data("anew\n".utf8).write(to: url)
                        #expect(try isTaken(mount, "--write", "a.txt"))
                        #expect(try isTaken(mount, "--write", "."))
                    }
                }
            }
            try waitUntil(5, "somebody waits") { try claims(mount).count == 2 }
            try Seeding(mount.scratch).file("go", "")
            try await waiting.value
            #expect(holder.wait(limit: 10).succeeded)
            #expect(try mount.run("\"$HYDRANT\" coordinate --read a.txt -- cat {}") == "anew\n")
        }
    }

    @Test(
        "a document replaced while a reader waits: the reader gets the new one",
        arguments: ["echo new >b.tmp; mv b.tmp b.txt", "rm b.txt; echo new >b.txt"])
    func replaced(_ save: String) async throws {
        try await Self.withDomain { mount in
            // (Not sent: nothing but its row in the catalog identifies it.)
            _ = try mount.run("\"$HYDRANT\" pause \"$MOUNT\"; echo old >b.txt")
            let holder = try mount.start(
                "exec \"$HYDRANT\" coordinate --write b.txt -- sh -c '\(Self.untilGo) \(save)'")
            try waitUntil(5, "it is held") { try claims(mount).contains(where: \.isGranted) }
            let waiting = Task.detached {
                try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                    try await FileCoordinator().coordinate(readingItemAt: Self.url(mount, "b.txt")) {
                        try Self.text($0)
                    }
                }
            }
            try waitUntil(5, "somebody waits") { try claims(mount).count == 2 }
            try Seeding(mount.scratch).file("go", "")
            #expect(try await waiting.value == "new\n")
            #expect(holder.wait(limit: 10).succeeded)
        }
    }

    // MARK: Waiting

    @Test("a wait can be cancelled or time out; then nothing of it is left")
    func cancellation() async throws {
        try await Self.withDomain { mount in
            let url = Self.url(mount, "a.txt")
            try await FileCoordinator().coordinate(writingItemAt: url) { (_: URL) async throws in
                let own = await refusal {
                    try await FileCoordinator().coordinate(readingItemAt: url) { _ in }
                }
                #expect(own == .wouldDeadlock)
                let waiting = Task.detached {
                    try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                        try await FileCoordinator().coordinate(readingItemAt: url) { _ in }
                    }
                }
                try waitUntil(5, "it waits") { try claims(mount).count == 2 }
                waiting.cancel()
                let cancelled = await refusal { try await waiting.value }
                #expect(cancelled == .cancelled)
                try waitUntil(5, "it waits no more") { try claims(mount).count == 1 }
                let late = Task.detached {
                    try await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                        try await FileCoordinator().coordinate(readingItemAt: url, timeout: .milliseconds(200)) { _ in }
                    }
                }
                let timedOut = await refusal { try await late.value }
                #expect(timedOut == .timedOut)
            }
        }
    }

    @Test("coordinators of one purpose do not wait for each other")
    func purposes() async throws {
        try await Self.withDomain { mount in
            let url = Self.url(mount, "a.txt")
            let text = try await FileCoordinator(purposeIdentifier: "mine").coordinate(writingItemAt: url) {
                (url: URL) async throws in
                try await FileCoordinator(purposeIdentifier: "mine").coordinate(readingItemAt: url) {
                    try Self.text($0)
                }
            }
            #expect(text == "first\n")
        }
    }

    @Test("two programs that wait for each other across two domains: one is refused, the other goes on")
    func cycleAcrossDomains() async throws {
        try await Self.withDomain { mount in
            let other = mount.scratch + "/other"
            try mount.run(
                "mkdir \"$SCRATCH/other\" \"$SCRATCH/store2\"; echo x > \"$SCRATCH/store2/x.txt\"; "
                    + "\"$HYDRANT\" mount \"dir:$SCRATCH/store2\" \"$SCRATCH/other\" --state-dir \"$SCRATCH/state2\"")
            defer { _ = try? mount.hydrant(["unmount", "--force", other]) }
            let here = Self.url(mount, "a.txt")
            let there = URL(filePath: other + "/x.txt", directoryHint: .notDirectory)
            let both = Barrier(2)
            func nested(_ outer: URL, _ inner: URL) -> Task<CoordinationError.Code?, Never> {
                Task.detached {
                    await SocketDirectory.$runtimeDirectory.withValue(mount.sandbox.runtime) {
                        await refusal {
                            try await FileCoordinator().coordinate(writingItemAt: outer) { (_: URL) async throws in
                                await both.wait()
                                try await FileCoordinator().coordinate(writingItemAt: inner) { _ in }
                            }
                        }
                    }
                }
            }
            let (first, second) = (nested(here, there), nested(there, here))
            let ends = await [first.value, second.value]
            #expect(ends.contains(.wouldDeadlock) && ends.contains(nil))
        }
    }

    private actor Barrier {
        private var missing: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []
        init(_ count: Int) { missing = count }
        func wait() async {
            missing -= 1
            if missing > 0 { return await withCheckedContinuation { waiting.append($0) } }
            for one in waiting { one.resume() }
        }
    }

    // MARK: The provider's purpose

    @Test("Hydrant does not send writes under the provider's purpose, unless the writer ends without sending them")
    func providersPurpose() async throws {
        try await Self.withDomain { mount in
            func uploads() -> Int { mount.hookCalls().filter { $0.hook == .itemChanged }.count }
            let identifier = "hydrant.directory"
            try await FileCoordinator(purposeIdentifier: identifier).coordinate(writingItemAt: Self.url(mount, "a.txt"))
            {
                try mount.run("echo changed > a.txt")
                _ = $0
            }
            usleep(1_500_000)
            #expect(uploads() == 0)
            #expect(try mount.status("a.txt").modified)
            // Now it is sent, by this process.
            try Seeding(mount.store).file("a.txt", "changed\n")
            try waitUntil(10, "that is what counts as sent") { try !mount.status("a.txt").modified }
            #expect(uploads() == 0)
            #expect(try mount.run("cat a.txt; ls") == "changed\na.txt\nb.txt\nfolder\n")
            // Another purpose's is sent.
            try await FileCoordinator(purposeIdentifier: "mine").coordinate(writingItemAt: Self.url(mount, "a.txt")) {
                _ in
                try mount.run("echo again > a.txt")
            }
            try mount.sync()
            #expect(uploads() == 1)
            // What is made, and what is in a folder, as well.
            let (made, folder) = (Self.url(mount, "made.txt"), Self.url(mount, "folder"))
            try await FileCoordinator(purposeIdentifier: identifier).coordinate(
                with: [.writingIntent(with: made), .writingIntent(with: folder)]
            ) { _ in
                try mount.run("echo made > made.txt; echo changed > folder/in.txt; echo new > folder/new.txt")
            }
            usleep(1_500_000)
            #expect(uploads() == 1)
            #expect(mount.hookCalls().filter { $0.hook == .createItem }.isEmpty)
            #expect(try RealFileSystem(root: mount.store).names() == ["a.txt", "b.txt", "folder"])
            // And so is what a program leaves behind that has ended.
            try mount.run(
                "\"$HYDRANT\" coordinate --purpose hydrant.directory --write b.txt -- sh -c 'echo left > b.txt'")
            try waitUntil(10, "it is sent") { try Seeding(mount.store).text("b.txt") == "left\n" }
        }
    }
}
