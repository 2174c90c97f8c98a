import Foundation
import MountHarness
import Testing

/// Two machines, each with a domain and a mount of its own, edit the same folder on one server at random.
/// `HYDRANT_TEST_TWO_MACHINES_SECONDS` says how long (default: 20), `HYDRANT_TEST_SEED` with which numbers.
@Suite("WebDAV: two machines")
struct TwoMachinesTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["HYDRANT_TEST_TWO_MACHINES_SECONDS"].flatMap { Int($0) } ?? 20
    private static let seed =
        environment["HYDRANT_TEST_SEED"].flatMap { Int($0) } ?? Int(Date().timeIntervalSince1970)
    private static let options = MountOptions.with {
        $0.store = .webdav
        $0.limit = 180 + Double(seconds) * 2
        $0.isAlone = true
        // Much of what they do is deleting and renaming.
        $0.arguments = ["--hold-deletions", "100"]
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
        "both machines end with the server's state, and every saved version exists somewhere", .timeLimit(.minutes(60)))
    func edit() async throws {
        print("two machines: seed \(Self.seed), \(Self.seconds) s")
        try await withMachines(2, Self.options) { machines in
            let (first, second) = (machines[0], machines[1])
            let server = try first.server()
            try second.use(server)
            for mount in machines { try mount.mount() }
            let children = try zip(["A", "B"], machines).map { name, mount in
                try mount.startPython(
                    "machine, seed, seconds = '\(name)', \(Self.seed), \(Self.seconds)\n" + Self.program)
            }
            let results = children.map { $0.wait(limit: Double(Self.seconds) * 1.5 + 60) }
            for result in results { guard result.succeeded else { throw HarnessError("\(result)") } }
            do {
                try waitUntil(90, "both are as the server") {
                    for mount in machines { try mount.sync(limit: 60) }
                    return try machines.allSatisfy { try Self.difference($0, first.store) == nil }
                }
            } catch {
                let differences = try machines.map { try Self.difference($0, first.store) ?? "the same" }
                throw HarnessError("\(error)\n\(differences.joined(separator: "\n"))")
            }
            let stored = try Self.lines(first.store)
            var saved = 0
            for mount in machines {
                let lines = try Seeding(mount.scratch).text("saved").split(separator: "\n").map(String.init)
                saved += lines.count
                let lost = lines.filter { !stored.lines.contains($0) }
                #expect(lost.isEmpty, "saved, and nowhere: \(lost.prefix(10))")
            }
            print(
                "two machines: \(saved) versions were saved, all of them exist, in \(stored.documents) documents, \(stored.copies) of"
                    + " which are conflicted copies")
            #expect(saved > Self.seconds)
        }
    }

    private static func difference(_ mount: MountedStore, _ store: String) throws -> String? {
        let result = try mount.shell("diff -r -x .DAV -x '.hydrant-*' \"\(store)\" \"$MOUNT\"", limit: 60)
        return result.succeeded ? nil : result.stdout + result.stderr
    }

    private static func lines(_ store: String) throws -> (lines: Set<String>, documents: Int, copies: Int) {
        let files = RealFileSystem(root: store)
        let contents = try files.tree().filter { $0.value != "folder" }
        var lines: Set<String> = []
        // (Copies of one day have one name there, without its number.)
        for text in contents.values { lines.formUnion(text.split(whereSeparator: \.isNewline).map(String.init)) }
        return (lines, contents.count, contents.keys.count { $0.contains(" (copy") })
    }
}
