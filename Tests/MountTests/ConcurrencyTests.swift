import Foundation
import MountHarness
import Testing

/// Several programs at once.
@Suite("Programs at the same time at a real mount")
struct ConcurrencyTests {
    static let modes = [MountOptions(), .cached]

    @Test("eight processes append to one file: no line is lost or torn", arguments: modes)
    func append(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            try Seeding(store).file("there", (1...100_000).map { "\($0)\n" }.joined())
        } _: { mount in
            let shown = try mount.python(
                """
                def line(who, number): return f"{who}:{number}:{'x' * (number % 70)}"
                for path in ["new", "there"]:
                    want = {line(who, number) for who in range(8) for number in range(500)} | {""}
                    if path == "there": want |= {str(number) for number in range(1, 100001)}
                    children = []
                    for who in range(8):
                        children.append(os.fork())
                        if children[-1] == 0:
                            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                            for number in range(500): os.write(file, line(who, number).encode() + b"\\n")
                            os._exit(0)
                    print([os.waitpid(child, 0)[1] for child in children] == [0] * 8)
                    lines = read(path).decode().split("\\n")
                    print(len(lines) == len(want), set(lines) == want)
                """, limit: 30)
            #expect(shown == "True\nTrue True\nTrue\nTrue True\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("flock, and fcntl's locks of ranges, hold between processes", arguments: modes)
    func locks(_ options: MountOptions) async throws {
        try await withMount(options) {
            try Seeding($0).file("counter", "0")
        } _: { mount in
            let shown = try mount.python(
                """
                for lock in [fcntl.flock, fcntl.lockf]:
                    write("counter", b"0"); children = []
                    for _ in range(4):
                        children.append(os.fork())
                        if children[-1] == 0:
                            file = os.open("counter", os.O_RDWR)
                            for _ in range(50):
                                lock(file, fcntl.LOCK_EX)
                                number = int(os.pread(file, 20, 0)); os.pwrite(file, str(number + 1).encode(), 0)
                                lock(file, fcntl.LOCK_UN)
                            os._exit(0)
                    for child in children: os.waitpid(child, 0)
                    print(read("counter"))
                file = os.open("counter", os.O_RDWR); fcntl.lockf(file, fcntl.LOCK_EX, 2, 1)
                def attempt(length, start):
                    child = os.fork()
                    if child == 0:
                        other = os.open("counter", os.O_RDWR)
                        os._exit(fails(fcntl.lockf, other, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start) != "ok")
                    return os.waitpid(child, 0)[1] != 0
                print(attempt(1, 0), attempt(1, 2), attempt(1, 3))
                """)
            #expect(shown == "b'200'\nb'200'\nFalse True False\n")
        }
    }

    /// A first listing goes page by page; the later ones come from the catalog.
    @Test("20,000 entries: the listing is complete and has no duplicates, also while entries are removed")
    func manyEntries() async throws {
        let count = 20_000
        try await withMount(.with { $0.limit = 120 }) { store in
            try Seeding(store).folder("many")
            for number in 0..<count {
                let descriptor = open("\(store)/many/document \(number)", O_WRONLY | O_CREAT, 0o600)
                guard descriptor >= 0 else { throw HarnessError("open: \(errno)") }
                close(descriptor)
            }
        } _: { mount in
            let shown = try mount.python(
                """
                want = {f"document {number}" for number in range(\(count))}
                for _ in range(2):
                    names = os.listdir("many")
                    print(len(names), set(names) == want)
                gone, seen = set(names[::20]), []
                with os.scandir("many") as entries:
                    for index, entry in enumerate(entries):
                        seen.append(entry.name)
                        if index % 10 == 0 and gone and index // 10 < len(names) // 20: os.unlink("many/" + names[index * 2])
                print(len(seen) == len(set(seen)), want - gone <= set(seen) <= want)
                print(set(os.listdir("many")) == want - gone)
                """, limit: 110)
            #expect(shown == "20000 True\n20000 True\nTrue True\nTrue\n")
            try mount.sync(limit: 60)
            #expect(try mount.run("ls -f \"$STORE/many\" | wc -l") == "\(count - count / 20 + 2)\n")
        }
    }

    /// (Nothing else lists the folder: where the kernel keeps a whole listing, it shows what that says.)
    @Test("a program that lists a folder while it renames, copies or links the entries ends", arguments: modes)
    func changedWhileListed(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            for number in 0..<300 { try Seeding(store).file("renamed/theirs \(number)", "") }
            try Seeding(store).folder("copied")
        } _: { mount in
            let shown = try mount.python(
                """
                def each(folder, change):
                    seen = []
                    with os.scandir(folder) as entries:
                        for entry in entries:
                            seen.append(entry.name); change(folder + "/" + entry.name)
                            if len(seen) > 5000: break
                    return sorted(seen)
                def away(path): os.rename(path, "away"); os.rename("away", path)
                def link(path): path.endswith(".copy") or os.link(path, path + ".link")
                for folder in ["renamed", "copied"]:
                    names = [f"ours {number}" for number in range(300)]
                    for name in names: write(f"{folder}/{name}", b"")
                    if folder == "renamed": names += [f"theirs {number}" for number in range(300)]
                    print(each(folder, lambda path: os.rename(path, path + ".x")) == sorted(names), end=" ")
                    names = [name + ".x" for name in names]
                    print(each(folder, away) == sorted(names), end=" ")
                    print(each(folder, lambda path: write(path + ".copy", b"")) == sorted(names), end=" ")
                    names += [name + ".copy" for name in names]
                    print(each(folder, link) == sorted(names), end=" ")
                    names += [name + ".link" for name in names if not name.endswith(".copy")]
                    print(sorted(os.listdir(folder)) == sorted(names))
                """, limit: 60)
            #expect(shown == "True True True True True\nTrue True True True True\n")
            try mount.sync(limit: 60)
        }
    }

    @Test("a listing always has each untouched name once, while others come and go", arguments: modes)
    func comeAndGo(_ options: MountOptions) async throws {
        try await withMount(options) { store in
            for number in 0..<500 { try Seeding(store).file("folder/kept \(number)", "") }
        } _: { mount in
            let shown = try mount.python(
                """
                want = {f"kept {number}" for number in range(500)}
                os.listdir("folder")
                child = os.fork()
                if child == 0:
                    number = 0
                    while True:
                        number += 1
                        write(f"folder/new {number}", b"")
                        os.rename(f"folder/new {number}", f"folder/renamed {number}")
                        if number > 20: os.unlink(f"folder/renamed {number - 20}")
                        open(f"{STORE}/folder/theirs {number % 50}", "w").close()
                        if number % 50 == 0: os.unlink(f"{STORE}/folder/theirs {number % 7}")
                twice, lacking, end = 0, 0, time.time() + 4
                while time.time() < end:
                    names = [name for name in os.listdir("folder") if name.startswith("kept")]
                    twice += len(names) - len(set(names)); lacking += len(want - set(names))
                os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
                print(twice, lacking)
                """)
            #expect(shown == "0 0\n")
            try mount.sync()
        }
    }
}
