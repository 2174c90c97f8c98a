import Foundation
import MountHarness
import Testing

/// Coordination from a shell and from another language.
@Suite("hydrant coordinate, present, claims")
struct CoordinateCommandTests {
    private static func status(_ mount: MountedStore, _ script: String) throws -> Int32 {
        try mount.shell("set +e; " + script).status
    }

    private func isHeld(_ mount: MountedStore) throws -> Bool {
        try mount.run("\"$HYDRANT\" claims \"$MOUNT\"").contains("holds")
    }

    @Test("the command gets the paths, and its status becomes the exit status")
    func command() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            #expect(
                try mount.run("\"$HYDRANT\" coordinate --read a.txt --read folder/in.txt -- cat {}")
                    == "first\ninside\n")
            try mount.run("\"$HYDRANT\" coordinate --read a.txt --write folder/copy.txt -- cp {}")
            #expect(try mount.run("cat folder/copy.txt") == "first\n")
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --write a.txt -- sh -c 'exit 7'") == 7)
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --write a.txt -- sh -c 'kill -9 $$'") == 137)
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --read nothing -- true") == 1)
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --read /etc/passwd -- true") == 1)
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate -- true") == 64)
            // It can read what it is given.
            #expect(try mount.run("echo input | \"$HYDRANT\" coordinate --write a.txt -- cat") == "input\n")
        }
    }

    @Test("a command within a command: a deadlock is refused, but not within one purpose")
    func nested() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let inner = "-- \"$HYDRANT\" coordinate --write a.txt -- echo done"
            let refused = try Self.status(mount, "\"$HYDRANT\" coordinate --read a.txt " + inner)
            #expect(refused == 75)
            let same = "-- \"$HYDRANT\" coordinate --purpose mine --write a.txt -- echo done"
            #expect(try mount.run("\"$HYDRANT\" coordinate --purpose mine --read a.txt " + same) == "done\n")
        }
    }

    @Test("the command can be interrupted and ended, and gets SIGPIPE, as if it ran by itself")
    func signals() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let command = "sed -En 's/^Sig(Blk|Ign):\\t//p' /proc/self/status"
            let masks = try mount.run("\"$HYDRANT\" coordinate --read a.txt -- \(command)").split(separator: "\n")
                .map { UInt64($0, radix: 16) }
            try #require(masks.count == 2)
            #expect(masks[0] == 0, "blocked")
            #expect(masks[1].map { $0 & 1 << UInt64(SIGPIPE - 1) } == 0, "ignored")
        }
    }

    @Test(
        "hydrant coordinate, when killed, holds on until its command ends; killed with its command, it leaves nothing")
    func killed() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let holder = try mount.start(
                "exec \"$HYDRANT\" coordinate --write a.txt -- sh -c 'echo $$; exec sleep 600'")
            try waitUntil(5, "its command runs") { holder.stdout.hasSuffix("\n") }
            let command = try #require(Int32(holder.stdout.trimmingCharacters(in: .whitespacesAndNewlines)))
            kill(holder.pid, SIGKILL)
            _ = holder.wait(limit: 5)
            usleep(300_000)
            #expect(try isHeld(mount))
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --read a.txt --timeout 0.2 -- true") == 75)
            kill(command, SIGKILL)
            try waitUntil(5, "it is free") { try !isHeld(mount) }
            #expect(try Self.status(mount, "\"$HYDRANT\" coordinate --read a.txt -- true") == 0)
        }
    }

    /// Two processes, each of which adds a line a hundred times by reading all and writing all.
    private static let python = """
        import json, os, subprocess, sys

        hydrant, path, name = os.environ["HYDRANT"], sys.argv[1], sys.argv[2]
        for number in range(30):
            held = subprocess.Popen(
                [hydrant, "coordinate", "--write", path, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            granted = json.loads(held.stdout.readline())
            assert granted["granted"] and granted["writing"] == [path], granted
            with open(path) as file: text = file.read()
            with open(path, "w") as file: file.write(text + f"{name} {number}\\n")
            held.stdin.close()
            assert held.wait() == 0
        """

    @Test("two Python programs hold an item through the JSON conversation and add lines: no line is lost")
    func jsonConversation() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try Self.python.write(toFile: mount.scratch + "/add.py", atomically: true, encoding: .utf8)
            let both = try ["one", "two"].map {
                try mount.start("exec /usr/bin/python3 \"$SCRATCH/add.py\" \"$MOUNT/a.txt\" \($0)")
            }
            for one in both {
                let result = one.wait(limit: 60)
                #expect(result.succeeded, "\(result)")
            }
            let lines = try mount.run("cat a.txt").split(separator: "\n").map(String.init)
            #expect(
                Set(lines) == Set(["first"] + (0..<30).flatMap { ["one \($0)", "two \($0)"] }) && lines.count == 61)
        }
    }

    private static let presenter = """
        import json, os, subprocess, sys

        shown = subprocess.Popen(
            [os.environ["HYDRANT"], "present", "--json", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in shown.stdout:
            message = json.loads(line)
            assert sorted(message) == ["kind", "path", "question"], message
            print(message["kind"], flush=True)
            if message["question"] is not None:
                print(message["question"], file=shown.stdin, flush=True)
            if message["kind"] == "deleted": break
        shown.kill()
        """

    @Test("Python presents an item: it gets questions and messages, and answers")
    func presents() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try Self.presenter.write(toFile: mount.scratch + "/show.py", atomically: true, encoding: .utf8)
            let shown = try mount.start("exec /usr/bin/python3 \"$SCRATCH/show.py\" \"$MOUNT/a.txt\"")
            try waitUntil(5, "it shows it") { shown.stdout.contains("registered") }
            try mount.run("\"$HYDRANT\" coordinate --write a.txt --for deleting -- rm {}")
            let result = shown.wait(limit: 10)
            #expect(
                result.lines.filter { $0 != "reacquire" } == [
                    "registered", "relinquishToWriter", "accommodateDeletion", "deleted",
                ])
        }
    }

    @Test("claims --json: an array of objects with exactly the documented keys")
    func claims() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            let script =
                "\"$HYDRANT\" coordinate --read a.txt --write b.txt -- \"$HYDRANT\" claims --json \"$MOUNT\""
            let objects = try #require(
                try JSONSerialization.jsonObject(with: Data(mount.run(script).utf8)) as? [[String: Any]])
            let keys: Set = ["id", "purpose", "pid", "program", "granted", "reading", "writing", "waitsFor", "within"]
            #expect(objects.map { Set($0.keys) } == [keys])
            #expect(objects[0]["granted"] as? Bool == true)
            #expect(objects[0]["reading"] as? [String] == [mount.mountPoint + "/a.txt"])
            #expect(objects[0]["writing"] as? [String] == [mount.mountPoint + "/b.txt"])
        }
    }

    @Test("claims and events name the program that needs the items, not hydrant coordinate")
    func program() async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try mount.python(
                #"""
                import json
                HYDRANT = os.environ["HYDRANT"]
                def hydrant(*words): return subprocess.run([HYDRANT, *words], capture_output=True, text=True, check=True).stdout
                def claim(): return json.loads(hydrant("claims", "--json", MOUNT))[0]
                def event(path):
                    # (The bytes are here a moment before the download has ended.)
                    end = time.time() + 60
                    while time.time() < end:
                        lines = [json.loads(line) for line in hydrant("events", "--json", "--last", "100", "--no-follow", MOUNT).splitlines()]
                        for line in lines:
                            if line["event"] == "startProvidingItem" and line["path"].endswith(path): return line["process"]
                        time.sleep(0.05)
                    raise Exception(f"no download of {path}: {lines}")
                # A command, by its own number.
                script = SCRATCH + "/edit"
                write(script, b"#!/bin/sh\necho $$ > $1.new; mv $1.new $1; read -r line\n"); os.chmod(script, 0o755)
                held = subprocess.Popen([HYDRANT, "coordinate", "--read", MOUNT + "/a.txt", "--", script, SCRATCH + "/number"],
                                        stdin=subprocess.PIPE)
                while not os.path.exists(SCRATCH + "/number"): time.sleep(0.02)
                found = claim()
                assert (found["program"], found["pid"]) == ("edit", int(read(SCRATCH + "/number"))), found
                assert event("a.txt") == {"pid": held.pid, "name": "edit"}, event("a.txt")
                held.communicate(b"\n")
                # Without a command: this program.
                held = subprocess.Popen([HYDRANT, "coordinate", "--read", MOUNT + "/b.txt", "--json"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                held.stdout.readline()
                own = open("/proc/self/comm").read().strip()
                found = claim()
                assert (found["program"], found["pid"]) == (own, os.getpid()), found
                assert event("b.txt") == {"pid": os.getpid(), "name": own}, event("b.txt")
                held.communicate()
                """#)
        }
    }
}
