import ControlAPI
import Foundation
import MountHarness
import Testing

/// `hydrant notify` on a real bus, at real mounts. Needs what `scripts/test desktop` installs.
@Suite("Notices of the desktop")
struct NoticeTests {
    private static let late = MountOptions.with {
        $0 = .lateUploads
        $0.limit = DesktopSession.limit + 30
    }

    @Test(
        "a conflict is shown by a real server (dunst); a button resolves it, and the notice closes; a second instance ends"
    )
    func dunst() async throws {
        try await withMount(Self.late, seed: { try Seeding($0).file("doc.txt", "base\n") }) { mount in
            try NoticeSession.makeConflict(mount)
            let output = try NoticeSession.run(
                """
                mkdir -p "$XDG_CONFIG_HOME/dunst"
                printf '#!/bin/bash\\nprintf "%%s\\\\n" "$2" "$3" >>"%s"\\n' "$SCRATCH/shown" >"$SCRATCH/show"
                # (The menu that dunst has its actions chosen from.)
                printf '#!/bin/bash\\ngrep -m1 "Keep both"\\n' >"$SCRATCH/choose"
                chmod +x "$SCRATCH/show" "$SCRATCH/choose"
                cat >"$XDG_CONFIG_HOME/dunst/dunstrc" <<END
                [global]
                    dmenu = $SCRATCH/choose
                [all]
                    appname = "*"
                    script = $SCRATCH/show
                END
                dunst >"$SCRATCH/dunst.log" 2>&1 & started+=($!)
                gdbus wait --session --timeout 60 org.freedesktop.Notifications
                notify
                until_line "$SCRATCH/shown" 'Two versions of “doc.txt”'
                "$HYDRANT" notify 2>&1; echo "second $?"
                until [ "$(dunstctl count displayed)" = 1 ]; do sleep 0.1; done
                dunstctl context
                until [ "$("$HYDRANT" conflicts "$MOUNT")" = 'no conflicts' ]; do sleep 0.1; done
                until [ "$(dunstctl count displayed)" = 0 ]; do sleep 0.1; done
                kill -0 $notify
                """, mount, onScreen: true)
            #expect(output.contains("second 0") && output.contains("runs in this session already"), "\(output)")
            #expect(try mount.run("ls | wc -l") == "2\n")
        }
    }

    @Test(
        "keeping one version is asked again; “no” changes nothing, “yes” does it; without a cause the notice is closed")
    func askedAgain() async throws {
        try await withMount(Self.late, seed: { try Seeding($0).file("doc.txt", "base\n") }) { mount in
            try NoticeSession.makeConflict(mount)
            _ = try NoticeSession.run(
                """
                mock 'body body-markup actions'
                notify
                log="$SCRATCH/server.log"
                until_line "$log" 'Notify .*Two versions'
                press 1 keepMine
                until_line "$log" 'Notify .*Replace the other version'
                press 1 no
                until [ "$(grep -c 'Notify .*Two versions' "$log")" = 2 ]; do sleep 0.1; done
                "$HYDRANT" conflicts "$MOUNT" | grep -q 'mine:'
                press 1 keepMine
                until [ "$(grep -c 'Notify .*Replace the other version' "$log")" = 2 ]; do sleep 0.1; done
                press 1 yes
                until [ "$("$HYDRANT" conflicts "$MOUNT")" = 'no conflicts' ]; do sleep 0.1; done
                """, mount)
            #expect(try mount.run("ls; cat doc.txt") == "doc.txt\nmine\n")
        }
    }

    /// A store on a file system of its own, whose documents can be made unchangeable.
    private static func withRefusing(_ name: String, _ body: @escaping @Sendable (MountedStore) throws -> Void)
        async throws
    {
        try await withSandbox(NoticeSession.options) { mount in
            let made = try mount.sandbox.run(
                ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", mount.store], limit: 5)
            try #require(made.succeeded)
            try Seeding(mount.store).file(name, "the store's\n")
            try mount.mount()
            try mount.run("cat '\(name)' >/dev/null")
            try #require(try mount.sandbox.run(["chattr", "+i", mount.store + "/" + name], limit: 5).succeeded)
            try body(mount)
            try #require(try mount.sandbox.run(["chattr", "-i", mount.store + "/" + name], limit: 5).succeeded)
        }
    }

    @Test(
        "a refused change: its name is escaped where the server reads markup; discarding asks first, and says what is lost"
    )
    func refused() async throws {
        let name = "<b>one & two/doc.txt"
        try await Self.withRefusing(name) { mount in
            try mount.run("echo mine, and longer than it was > */doc.txt")
            let output = try NoticeSession.run(
                """
                mock 'body body-markup actions'
                notify
                log="$SCRATCH/server.log"
                until_line "$log" 'Notify .*The store refuses'
                press 1 discard
                until_line "$log" 'Notify .*Discard the change'
                "$HYDRANT" status --json "$MOUNT"/*/doc.txt | grep -q '"modified" : true'
                press 1 yes
                until "$HYDRANT" status --json "$MOUNT"/*/doc.txt | grep -q '"modified" : false'; do sleep 0.1; done
                cat "$log"
                """, mount)
            // (A body has markup; a title has none.)
            #expect(output.contains("The store refuses “doc.txt”"), "\(output)")
            #expect(
                output.contains("\(mount.mountPoint)/&lt;b&gt;one &amp; two") && !output.contains("<b>"), "\(output)")
            #expect(output.contains("29 B that exist nowhere else"), "\(output)")
            #expect(try mount.run("cat */doc.txt") == "the store's\n")
        }
    }

    @Test("a server without buttons: the text says which commands to run, and has no traces of escapes; in German")
    func commands() async throws {
        try await Self.withRefusing("a & b.txt") { mount in
            try mount.run("echo mine, and longer than it was > *")
            let output = try NoticeSession.run(
                """
                export LANG=de_DE.UTF-8; unset LC_ALL LC_MESSAGES LANGUAGE
                mock body
                notify
                until_line "$SCRATCH/server.log" 'Notify .*Der Speicher weist'
                cat "$SCRATCH/server.log"
                """, mount)
            #expect(output.contains("hydrant retry '\(mount.mountPoint)/a & b.txt'"), "\(output)")
            #expect(output.contains("hydrant discard") && !output.contains("&amp;"), "\(output)")
        }
    }

    @Test(
        "held deletions are put back by a button; a mount and a server that come later are found; --json tells the same"
    )
    func held() async throws {
        try await withSandbox(NoticeSession.options) { mount in
            for index in 0..<40 { try Seeding(mount.store).file("tree/doc\(index)", "text \(index)\n") }
            let output = try NoticeSession.run(
                """
                notify
                "$HYDRANT" notify --json >"$SCRATCH/lines" & started+=($!)
                \(mount.mountCommand().map { "'\($0)'" }.joined(separator: " ").replacing("'mount'", with: "\"$HYDRANT\" mount")) >&2
                cat "$MOUNT"/tree/* >/dev/null
                mv "$STORE/tree" "$SCRATCH/tree"
                until_line "$SCRATCH/lines" '"event":"show","kind":"heldDeletions"'
                mock 'body actions'
                until_line "$SCRATCH/server.log" 'Notify .*the store has deleted 41 items'
                # (That bytes are here is written down a while after they came.)
                until "$HYDRANT" status --json --mounts | grep -q '"incomplete" : 0'; do sleep 0.1; done
                press 1 putBack
                until_line "$SCRATCH/lines" '"event":"close","kind":"heldDeletions"'
                until [ "$(ls "$STORE/tree" | wc -l)" = 40 ]; do sleep 0.1; done
                """, mount)
            #expect(output.isEmpty, "\(output)")
            mount.sandbox.note(daemon: try mount.daemonPID())
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    @Test("a large download has one notice, changed in place with its progress, and closed at its end")
    func download() async throws {
        let options = MountOptions.with {
            $0.limit = DesktopSession.limit + 30
            $0.arguments = ["--read-ahead", "none", "--limit-download", "2M"]
        }
        try await withMount(
            options, seed: { try Seeding($0).file("film", String(repeating: "0123456789abcdef", count: 1 << 20)) }
        ) {
            mount in
            let output = try NoticeSession.run(
                """
                mock 'body actions'
                "$HYDRANT" notify --large-download 8M & started+=($!)
                cat "$MOUNT/film" >/dev/null & started+=($!)
                until_line "$SCRATCH/server.log" 'CloseNotification 1'
                cat "$SCRATCH/server.log"
                """, mount)
            let shown = output.split(separator: "\n").filter { $0.contains("Downloading “film”") }
            #expect(
                shown.count >= 2 && shown.dropFirst().allSatisfy { $0.contains("Notify \"Hydrant\" 1 ") }, "\(output)")
            #expect(output.contains("\"value\": ") && output.contains("of 16.0 MiB"), "\(output)")
        }
    }
}
