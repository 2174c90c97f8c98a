import ControlAPI
import Foundation
import MountHarness
import Testing

/// Which programs may have documents downloaded by opening them.
@Suite("Download policy")
struct PolicyTests {
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for number in 1...9 { try seeding.file("\(number).txt", "document \(number)\n") }
        try seeding.file("large.bin", String(repeating: "x", count: 300_000))
    }

    /// Programs of these names, which read the files that they are given.
    private static let programs = """
        cp "$(command -v cat)" "$SCRATCH/tumblerd"
        printf '#!/bin/sh\\n/bin/cat "$@"\\n' >"$SCRATCH/odf-thumbnailer"
        printf 'import sys\\nprint(open(sys.argv[1]).read(), end="")\\n' >"$SCRATCH/baloo_file_extractor"
        cp "$(command -v cat)" "$SCRATCH/tracker-extract-3-of-somebody"
        chmod +x "$SCRATCH"/*
        """

    private func withPrograms(
        _ options: MountOptions = MountOptions(), _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        try await withMount(options, seed: Self.seed) { mount in
            _ = try mount.run(Self.programs)
            try body(mount)
        }
    }

    private static let eagain = "Resource temporarily unavailable"

    @Test(
        "programs that make thumbnails or indexes download nothing, and read downloaded documents",
        arguments: [
            "\"$SCRATCH/tumblerd\"", "\"$SCRATCH/odf-thumbnailer\"", "python3 \"$SCRATCH/baloo_file_extractor\"",
            "\"$SCRATCH/tracker-extract-3-of-somebody\"", "HYDRANT_DOWNLOADS=deny cat",
            "\"$HYDRANT\" policy --deny-command -- cat", "HYDRANT_DOWNLOADS=deny sh -c 'cat \"$0\"'",
            // What it starts has another environment.
            "HYDRANT_DOWNLOADS=deny sh -c 'env -i cat \"$0\"; exit $?'",
            "python3 -W ignore -Werror -X utf8 \"$SCRATCH/baloo_file_extractor\"",
        ])
    func refused(_ reader: String) async throws {
        try await withPrograms { mount in
            let first = try mount.shell("\(reader) 1.txt")
            #expect(first.status != 0 && first.stdout.isEmpty)
            #expect(first.stderr.contains(Self.eagain) || first.stderr.contains("BlockingIOError"), "\(first)")
            #expect(try mount.status("1.txt").state == .placeholder)
            let events = try mount.run("\"$HYDRANT\" events --last 100 --no-follow --json \"$MOUNT\"")
            let refusals = events.split(separator: "\n").filter { $0.contains("\"event\":\"refused\"") }
            #expect(refusals.count == 1 && refusals[0].contains("1.txt") && refusals[0].contains("may not download"))
            #expect(!events.contains("startProvidingItem"))
            // Somebody reads it.
            #expect(try mount.run("cat 1.txt") == "document 1\n")
            #expect(try mount.run("\(reader) 1.txt") == "document 1\n")
        }
    }

    @Test("the nearest rule decides: the program's own before that of its parent")
    func nearest() async throws {
        try await withPrograms { mount in
            let allowed = try mount.run("HYDRANT_DOWNLOADS=deny sh -c 'HYDRANT_DOWNLOADS=allow cat 1.txt; exit $?'")
            #expect(allowed == "document 1\n")
            let refused = try mount.shell("HYDRANT_DOWNLOADS=allow sh -c 'env -i \"$SCRATCH/tumblerd\" 2.txt; exit $?'")
            #expect(refused.status != 0 && refused.stderr.contains(Self.eagain), "\(refused)")
        }
    }

    @Test("a script is recognised behind an interpreter's options, and other arguments are not taken for scripts")
    func scripts() async throws {
        try await withPrograms { mount in
            _ = try mount.run(
                """
                printf 'open(F, $ARGV[0]) || die $!; print <F>;' >"$SCRATCH/a-thumbnailer"
                """)
            for words in [
                "perl -I lib -w", "perl -Ilib/e", "bash -eu -o pipefail", "bash -euo pipefail +O extglob --",
                "python3 -bW ignore", "python3 --check-hash-based-pycs never",
            ] {
                let script = words.hasPrefix("perl") ? "a" : words.hasPrefix("python") ? "baloo" : "odf"
                let name = ["a": "a-thumbnailer", "baloo": "baloo_file_extractor", "odf": "odf-thumbnailer"][script]!
                let result = try mount.shell("\(words) \"$SCRATCH/\(name)\" 3.txt")
                #expect(result.status != 0 && result.stdout.isEmpty, "\(words): \(result)")
            }
            for (number, words) in [
                "python3 -c 'print(open(\"%\").read(), end=\"\")' x-thumbnailer",
                "perl -ne print % x-thumbnailer", "bash -ec 'cat %; :' x-thumbnailer",
            ].enumerated() {
                let words = words.replacing("%", with: "\(number + 4).txt").replacing(
                    " x-thumbnailer", with: words.hasPrefix("perl") ? "" : " x-thumbnailer")
                #expect(try mount.run(words) == "document \(number + 4)\n")
            }
        }
    }

    @Test("a partial document cannot be opened either; a program that only writes needs no permission")
    func partial() async throws {
        try await withPrograms(.cached) { mount in
            _ = try mount.run("dd if=large.bin of=/dev/null bs=4096 count=1 status=none")
            guard try mount.status("large.bin").state == .partial else { return }
            #expect(try mount.shell("\"$SCRATCH/tumblerd\" large.bin").status != 0)
            _ = try mount.run(
                "printf 'import sys\\nopen(sys.argv[1], \"w\").write(\"new\")' >\"$SCRATCH/x-thumbnailer\"")
            _ = try mount.run("python3 \"$SCRATCH/x-thumbnailer\" 2.txt; cat 2.txt")
            #expect(try mount.run("cat 2.txt") == "new")
        }
    }

    @Test("a user's rule precedes the built-in ones, at once and over a remount")
    func rules() async throws {
        try await withPrograms { mount in
            let denied = try mount.run("\"$HYDRANT\" policy --deny cat --deny 'x*' \"$MOUNT\"")
            #expect(denied.hasPrefix("deny   x*\ndeny   cat\ndeny   built in: tumblerd, "))
            #expect(try mount.shell("cat 1.txt").stderr.contains(Self.eagain))
            #expect(try mount.run("head -n 1 1.txt") == "document 1\n")
            // A name in a command's text is not the command's.
            #expect(try mount.run("bash -c 'head -n 1 9.txt; : /usr/bin/updatedb'") == "document 9\n")
            _ = try mount.run("\"$HYDRANT\" policy --allow tumblerd --forget cat \"$MOUNT\"")
            #expect(try mount.run("\"$SCRATCH/tumblerd\" 2.txt; cat 3.txt") == "document 2\ndocument 3\n")
            try mount.remount()
            #expect(try mount.run("\"$SCRATCH/tumblerd\" 4.txt") == "document 4\n")
            let json = try mount.run("\"$HYDRANT\" policy --json \"$MOUNT\"")
            let rules = try JSONDecoder().decode([DownloadRule].self, from: Data(json.utf8))
            #expect(rules.prefix(2).map(\.program) == ["tumblerd", "x*"])
            #expect(rules[0].decision == .allow && rules[0].origin == .domain && rules.last?.origin == .builtIn)
            _ = try mount.run("\"$HYDRANT\" policy --forget tumblerd \"$MOUNT\"")
            // (It may have come ahead of its reader.)
            _ = try mount.run("\"$HYDRANT\" evict 5.txt")
            #expect(try mount.shell("\"$SCRATCH/tumblerd\" 5.txt").status != 0)
            for bad in ["/bin/cat", "", "a\nb", String(repeating: "x", count: 256)] {
                #expect(try mount.hydrant(["policy", "--deny", bad, mount.mountPoint]).status == 1, "\(bad)")
            }
            #expect(try mount.hydrant(["policy", "--deny-command", mount.mountPoint]).status == 64)
        }
    }

    @Test("for a program with an ask rule, the user is asked once, and the answer holds")
    func asks() async throws {
        let tools = NSTemporaryDirectory() + "hydrant-notify-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: tools) }
        let notifier = """
            #!/bin/sh
            printf '%s\\n' "$@" >>'\(tools)/asked'
            until [ -e '\(tools)/answer' ]; do sleep 0.05; done
            cat '\(tools)/answer'
            """
        try notifier.write(toFile: tools + "/notify-send", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tools + "/notify-send")
        let path = tools + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        try await withPrograms(.with { $0.environment["PATH"] = path }) { mount in
            _ = try mount.run("\"$HYDRANT\" policy --ask head \"$MOUNT\"")
            #expect(try mount.shell("head -n 1 1.txt").stderr.contains(Self.eagain))
            #expect(try mount.shell("head -n 1 2.txt").stderr.contains(Self.eagain))
            try waitUntil(20, "the question") { FileManager.default.fileExists(atPath: tools + "/asked") }
            try "allow\n".write(toFile: tools + "/answer", atomically: true, encoding: .utf8)
            try waitUntil(20, "the answer") { try mount.shell("head -n 1 1.txt").stdout == "document 1\n" }
            let asked = try String(contentsOfFile: tools + "/asked", encoding: .utf8)
            #expect(asked.components(separatedBy: "head opens documents").count == 2)
            #expect(try mount.run("\"$HYDRANT\" policy \"$MOUNT\"").hasPrefix("allow  head\n"))
        }
    }
}
