import ControlAPI
import Foundation
import MountHarness
import Testing

/// Ordinary programs in the mount.
@Suite("Programs work in the mount")
struct ScriptTests {
    static func seed(_ store: String) throws {
        try Seeding(store).file("tool/run.sh", "#!/bin/sh\necho \"$1 works\"\n")
        try Seeding(store).file("data.csv", (1...500).map { "\($0),\($0 * $0)\n" }.joined())
        for number in 0..<30 {
            try Seeding(store).file("tree/\(number % 5)/\(number).dat", noise(2_000 + number, seed: UInt64(number)))
        }
    }

    @Test("git init, add, commit, log, status, fsck", arguments: [MountOptions(), .cached])
    func git(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let text = try mount.run(
                """
                mkdir repository; cd repository
                git init -q -b main .
                git config user.email a@b.c; git config user.name A
                cp -r ../tree .
                git add .; git commit -q -m one
                echo two > two.txt; sed -i s/two/three/ two.txt
                git add .; git commit -q -m two
                git mv two.txt three.txt; git commit -q -m three
                git status --porcelain; git log --format=%s; git fsck --no-progress 2>&1
                """, limit: 30)
            #expect(text == "three\ntwo\none\n")
            try mount.sync()
            try mount.requireSameAsStore()
            // The store has a whole repository, too.
            #expect(
                try mount.run(
                    "git -C \"$STORE/repository\" fsck --no-progress 2>&1; git -C \"$STORE/repository\" log -1 --format=%s"
                ) == "three\n")
        }
    }

    @Test("python reads, writes in place and in binary", arguments: [MountOptions(), .cached])
    func python(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let text = try mount.run(
                """
                python3 -c '
                import csv, json, os
                rows = [[int(x) for x in row] for row in csv.reader(open("data.csv"))]
                assert rows[499] == [500, 250000], rows[499]
                json.dump(rows, open("data.json", "w"))
                with open("data.csv", "r+") as file:
                    file.seek(0, 2); file.write("501,251001\\n"); file.flush(); os.fsync(file.fileno())
                    file.seek(0); print(len(file.readlines()))
                os.replace("data.json", "tree/data.json")
                print(len(json.load(open("tree/data.json"))))
                '
                """)
            #expect(text == "501\n500\n")
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("cp -a keeps dates and modes, tar and back gives the same", arguments: [MountOptions(), .cached])
    func copies(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let list = "find . -mindepth 1 \\( -type d -printf '%P %m %Ts\\n' -o -printf '%P %m %s %Ts\\n' \\) | sort"
            let documents = "find . -type f -printf '%P %m %s %Ts\\n' | sort"
            try mount.run(
                "cp -a tree copied; tar cf \"$SCRATCH/tree.tar\" tree; mkdir out; tar xf \"$SCRATCH/tree.tar\" -C out")
            let real = try mount.run("cd \"$STORE/tree\"; \(list)").split(separator: "\n")
            #expect(try mount.run("cd copied; \(list)").split(separator: "\n") == real)
            #expect(try mount.run("cd out/tree; \(list)").split(separator: "\n") == real)
            try mount.sync()
            // (The store's folders get another date with each document that is put into them.)
            #expect(
                try mount.run("cd \"$STORE/copied\"; \(documents)") == mount.run("cd \"$STORE/tree\"; \(documents)"))
            try mount.requireSameAsStore()
        }
    }

    @Test("tar -S does not take a placeholder for a hole")
    func sparseTar() async throws {
        try await withMount(seed: Self.seed) { mount in
            let same = try mount.run(
                "tar -S -cf - tree | tar xf - -C \"$SCRATCH\"; diff -r \"$SCRATCH/tree\" \"$STORE/tree\" && echo same")
            #expect(same == "same\n")
        }
    }

    @Test("a script in the mount can be run")
    func execute() async throws {
        try await withMount(seed: Self.seed) { mount in
            let text = try mount.run(
                "chmod +x tool/run.sh; ./tool/run.sh it; cp /bin/true tool/true; ./tool/true && echo and this")
            #expect(text == "it works\nand this\n")
        }
    }

    @Test(
        "an unlinked file stays readable and writable for programs that have it open",
        arguments: [MountOptions(), .cached])
    func unlinkedOpen(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let text = try mount.run(
                """
                exec 3<> brief; echo hello >&3; rm brief
                ls -A | grep -c brief || true
                echo more >&3
                python3 -c 'import os; os.lseek(3, 0, 0); print(os.read(3, 100).decode(), end="")'
                cat data.csv >/dev/null; exec 3<> data.csv; rm data.csv; head -1 <&3
                """)
            #expect(text == "0\nhello\nmore\n1,1\n")
            try mount.sync()
            #expect(try Seeding(mount.store).names() == ["tool", "tree"])
        }
    }

    @Test(
        "an unlinked placeholder stays readable for programs that have it open",
        arguments: [MountOptions(), .cached, .lateUploads])
    func unlinkedPlaceholder(_ options: MountOptions) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            let text = try mount.run("exec 3< data.csv; rm data.csv; head -1 <&3")
            #expect(text == "1,1\n")
        }
    }

    @Test("rsync in and out", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/rsync")))
    func rsync() async throws {
        try await withMount(seed: Self.seed) { mount in
            try mount.run(
                "rsync -a \"$STORE/tree/\" in/; rsync -a tree/ \"$SCRATCH/out/\"; diff -r \"$SCRATCH/out\" \"$STORE/tree\""
            )
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }
}
