import Foundation
import MountHarness
import S3Harness
import S3Provider
import Testing

/// Two machines, each with a domain and a mount of its own, edit the same folder on one server, or the same bucket, at
/// random. `HYDRANT_TEST_TWO_MACHINES_SECONDS` says how long (default: 20), `HYDRANT_TEST_SEED` with which numbers.
@Suite("Two machines")
struct TwoMachinesTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["HYDRANT_TEST_TWO_MACHINES_SECONDS"].flatMap { Int($0) } ?? 20
    private static let seed =
        environment["HYDRANT_TEST_SEED"].flatMap { Int($0) } ?? Int(Date().timeIntervalSince1970)
    private static func options(_ store: StoreKind) -> MountOptions {
        .with {
            $0.store = store
            $0.limit = 180 + Double(seconds) * 2
            $0.isAlone = true
            // Much of what they do is deleting and renaming.
            $0.arguments = ["--hold-deletions", "100"]
        }
    }

    /// Each save adds a line of its own to a document, so that a version exists as long as its line is somewhere. Nothing
    /// with a line in it is deleted, and what one machine saves by renaming is not edited by the other, since a program
    /// cannot know what has come between its reading and its renaming: on no file system.
    private static let program = #"""
        import random, shutil
        chance = random.Random(f"{machine}{seed}")
        saved, count, refused = open(os.path.join(SCRATCH, "saved"), "w"), 0, 0
        def folders(): return ["."] + [path for path, _, _ in os.walk(".") if path != "."]
        def documents():
            return [os.path.join(path, name) for path, _, names in os.walk(".") for name in names
                if not name.startswith("temporary")]
        def line():
            global count
            count += 1
            return f"{machine}{seed}-{count}\n".encode()
        def owner(path): return os.path.basename(path)[0]
        def name(of): return of + "-" + chance.choice("abcdefgh") + chance.choice(["", "1", "2", ".txt"])
        def some_place(of): return os.path.join(chance.choice(folders()), name(of))
        def mine(owners): return chance.choice([path for path in documents() if owner(path) in owners])
        def create():
            # Few, so that both are at one document often.
            if len(documents()) > 15: return
            text = line()
            with open(some_place(chance.choice([machine, "s"])), "xb") as file: file.write(text)
            return text
        def edit():
            text = line()
            with open(mine([machine, "s"]), "r+b", buffering=0) as file:
                # (Of a version that nobody has any more, what was never read cannot be sent along.)
                file.read()
                file.write(text)
            return text
        def save():
            path, text = mine([machine]), line()
            temporary = os.path.join(os.path.dirname(path), f"temporary-{machine}{count}")
            with open(path, "rb") as file: before = file.read()
            with open(temporary, "wb") as file:
                file.write(before + text)
                os.fsync(file.fileno())
            os.rename(temporary, path)
            return text
        def rename():
            path = chance.choice(documents())
            rename2(path, some_place(owner(path)), 1)
        def rename_folder():
            if len(folders()) > 1: rename2(chance.choice(folders()[1:]), some_place("f"), 1)
        def make_folder():
            if len(folders()) < 8: os.mkdir(some_place("f"))
        def copy():
            path = chance.choice(documents())
            target = some_place(owner(path))
            if len(documents()) < 20 and not os.path.exists(target): shutil.copyfile(path, target)
        def temporary():
            path = os.path.join(chance.choice(folders()), f"temporary-{machine}{chance.randrange(5)}")
            write(path, os.urandom(chance.randrange(50000)))
            if chance.random() < 0.5: time.sleep(chance.random())
            os.unlink(path)
        def read_one():
            with open(chance.choice(documents()), "rb") as file: file.read()
        acts = [create] * 3 + [edit] * 8 + [save] * 8 + [rename] * 3 + [rename_folder, make_folder, copy] + \
            [temporary] * 2 + [read_one] * 4
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                text = chance.choice(acts)()
                # It counts when the program was told that it is saved.
                if text: saved.write(text.decode()); saved.flush()
            except (OSError, IndexError): refused += 1
            time.sleep(chance.choice([0, 0.01, 0.05, 0.3]))
        print(count, refused)
        """#

    @Test(
        "WebDAV: both machines end with the server's state, and every saved version exists somewhere",
        .timeLimit(.minutes(60)))
    func webdav() async throws {
        try await withMachines(2, Self.options(.webdav)) { machines in
            try machines[1].use(try machines[0].server())
            try Self.edit(machines, RealFileSystem(root: machines[0].store))
        }
    }

    @Test(
        "S3: both machines end with the bucket's state, and every saved version exists somewhere",
        .timeLimit(.minutes(60)))
    func bucket() async throws {
        try await withS3(.usual) { bucket in
            let observer = try bucket.provider()
            try await withMachines(2, Self.options(.domain)) { machines in
                for mount in machines { try bucket.use(for: mount) }
                try Self.edit(machines, BucketFileSystem(observer))
            }
            await observer.invalidate()
        }
    }

    private static func edit(_ machines: [MountedStore], _ store: any FileSystemUnderTest) throws {
        print("two machines: seed \(seed), \(seconds) s")
        for mount in machines { try mount.mount() }
        let children = try zip(["A", "B"], machines).map { name, mount in
            try mount.startPython("machine, seed, seconds = '\(name)', \(seed), \(seconds)\n" + program)
        }
        let results = children.map { $0.wait(limit: Double(seconds) * 1.5 + 60) }
        for result in results { guard result.succeeded else { throw HarnessError("\(result)") } }
        do {
            try waitUntil(90, "both are as the server") {
                for mount in machines { try mount.sync(limit: 60) }
                let stored = try tree(store)
                // (A document may be replaced in the store between a machine's look and its read: ESTALE.)
                return machines.allSatisfy { (try? tree(RealFileSystem(root: $0.mountPoint))) == stored }
            }
        } catch {
            let stored = try tree(store)
            let differences = try machines.map { try difference(tree(RealFileSystem(root: $0.mountPoint)), stored) }
            throw HarnessError("\(error)\n\(differences.joined(separator: "\n"))")
        }
        let contents = try tree(store).filter { $0.value != "folder" }
        var stored: Set<String> = []
        for text in contents.values { stored.formUnion(text.split(whereSeparator: \.isNewline).map(String.init)) }
        var saved = 0
        for mount in machines {
            let lines = try Seeding(mount.scratch).text("saved").split(separator: "\n").map(String.init)
            saved += lines.count
            let lost = lines.filter { !stored.contains($0) }
            #expect(lost.isEmpty, "saved, and nowhere: \(lost.prefix(10))")
        }
        // (Copies of one day have one name there, without its number.)
        let copies = contents.keys.count { $0.contains(" (copy") }
        print(
            "two machines: \(saved) versions were saved, all of them exist, in \(contents.count) documents, \(copies) of"
                + " which are conflicted copies; requests refused to programs: "
                + results.map { $0.stdout.trimmingCharacters(in: .whitespacesAndNewlines) }.joined(separator: ", "))
        #expect(saved > seconds)
    }

    /// Without a server's own files, and drafts.
    private static func tree(_ files: any FileSystemUnderTest) throws -> [String: String] {
        func isShown(_ path: String) -> Bool {
            !path.split(separator: "/").contains { $0 == ".DAV" || $0.hasPrefix(".hydrant-") }
        }
        func look(_ files: some FileSystemUnderTest) throws -> [String: String] { try files.tree() }
        return try look(files).filter { isShown($0.key) }
    }

    private static func difference(_ here: [String: String], _ there: [String: String]) -> String {
        Set(here.keys).union(there.keys).sorted().filter { here[$0] != there[$0] }
            .map { "\($0): \(here[$0] ?? "-") here, \(there[$0] ?? "-") there" }.joined(separator: "\n")
    }
}
