import ControlAPI
import Documents
import FileCoordination
import Foundation
import MountHarness
import Testing

/// Documents, and the examples, when others do what nobody expects of them.
@Suite("Documents beside faulty programs, at a real mount")
struct DocumentFaultTests {
    @Test("after a kill of the daemon during another program's write, the document is editable again")
    func killedWhileWritten() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            let writer = try mount.start("exec \"$HYDRANT\" coordinate --write a.txt -- sleep 100")
            try await DocumentTests.until("somebody writes it") {
                await document.documentState.contains(.editingDisabled)
            }
            try mount.kill9()
            try await DocumentTests.until("nobody does any more") { await document.documentState == .normal }
            kill(writer.pid, SIGTERM)
            try mount.mount()
            try mount.run("echo later > a.txt")
            try await DocumentTests.until("it goes on") { await document.text == "later\n" }
        }
    }

    @Test("a document whose name is not UTF-8 is followed and saved, and so is its conflicted copy")
    func bytes() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            try mount.run("mv a.txt $'b\\xff.txt'")
            try await DocumentTests.until("it follows") { await document.fileURL.absoluteString.contains("%FF") }
            await document.edit("own\n")
            try await document.autosaveIfNeeded()
            #expect(try mount.run("cat $'b\\xff.txt'") == "own\n")
            await document.edit("mine\n")
            try mount.run("echo theirs > $'b\\xff.txt'")
            try await DocumentTests.until("it is in conflict") { await document.documentState == .inConflict }
            let versions = await document.unresolvedConflictVersions
            #expect(versions.map(\.isOwn) == [true])
            try await document.resolveConflict(keeping: .mine)
            #expect(try mount.run("cat $'b\\xff.txt'; ls | wc -l") == "mine\n3\n")
            // The examples take such a name as well.
            #expect(
                try mount.run(
                    "\"$(dirname \"$HYDRANT\")/hydrant-jot\" $'b\\xff.txt' word; cat $'b\\xff.txt'; ls | wc -l")
                    == "mine\nword\n3\n")
        }
    }

    @Test("changes made while another program was about to delete the document, and did not, are autosaved")
    func notDeleted() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            await document.set(autosaveDelay: .milliseconds(50))
            let other = try mount.start(
                """
                exec "$HYDRANT" coordinate --write a.txt --for deleting -- \
                    sh -c 'touch "$SCRATCH/held"; until [ -e "$SCRATCH/go" ]; do sleep 0.05; done'
                """)
            try waitUntil(10, "he has it") { FileManager.default.fileExists(atPath: mount.scratch + "/held") }
            await document.edit("typed meanwhile\n")
            try await Task.sleep(for: .milliseconds(500))
            #expect(await document.hasUnsavedChanges, "it is not made anew")
            try mount.run("touch \"$SCRATCH/go\"")
            try await DocumentTests.until("it is saved") { await !document.hasUnsavedChanges }
            #expect(try mount.run("cat a.txt") == "typed meanwhile\n")
            #expect(other.wait(limit: 20).status == 0)
        }
    }

    @Test("a save that waits for other programs can be cancelled by its task, or by closing without saving")
    func givenUp() async throws {
        try await DocumentTests.opening("a.txt") { mount, document in
            let other = try mount.start(
                "exec \"$HYDRANT\" coordinate --write a.txt -- sh -c 'touch \"$SCRATCH/held\"; exec sleep 100'")
            try waitUntil(10, "he has it") { FileManager.default.fileExists(atPath: mount.scratch + "/held") }
            await document.set(autosaveDelay: .milliseconds(50))
            await document.edit("typed meanwhile\n")
            try await Task.sleep(for: .milliseconds(300))
            // Behind the autosave, which waits for him.
            let save = Task { try await document.save(to: document.fileURL, for: .forOverwriting) }
            try await Task.sleep(for: .milliseconds(100))
            save.cancel()
            await #expect(throws: CancellationError.self) { try await save.value }
            try await document.close(savingChanges: false)
            #expect(await document.documentState == .closed)
            kill(other.pid, SIGTERM)
            #expect(try mount.run("cat a.txt") == "first\n")
        }
    }

    @Test("two programs at once on one document: neither fails, and no line is lost")
    func many() async throws {
        try await DocumentTests.with { mount in
            let failures = try mount.run(
                """
                jot="$(dirname "$HYDRANT")/hydrant-jot"
                for n in 1 2; do
                    ("$jot" list.txt "line $n" 2>>"$SCRATCH/told" || echo "$n: status $?") &
                done
                wait
                """, limit: 100)
            #expect(failures == "")
            let all = try mount.run("tail -n +1 list*.txt; cat \"$SCRATCH/told\"")
            #expect(try mount.run("cat list*.txt | sort -u | wc -l") == "2\n", "\(all)")
        }
    }

    @Test("the example does not touch files that it could not write unchanged; errors name the document")
    func jot() async throws {
        try await DocumentTests.with { mount in
            let output = try mount.run(
                """
                exec 2>&1
                jot="$(dirname "$HYDRANT")/hydrant-jot"; cd "$SCRATCH"
                say() { sed "s|$SCRATCH|S|g"; }
                mkdir folder; echo kept >folder/file; mkdir "$MOUNT/folder/inner"
                "$jot" folder word || echo "status $?"; cat folder/file
                "$jot" "$MOUNT/folder" word || echo "status $?"; ls "$MOUNT/folder"
                printf 'a\\377b\\n' >latin; "$jot" latin word || echo "status $?"; od -An -c latin
                printf '\\na\\r\\n\\n\\nb\\n' >gaps; "$jot" gaps word; od -An -c gaps
                printf 'a\\033]0;x\\007\\n' >steering; "$jot" steering >shown & sleep 0.1
                until [ -s shown ]; do sleep 0.05; done; kill $!; cat shown
                long="$(head -c 5000 /dev/zero | tr '\\0' x)"
                (ulimit -f 1; trap '' XFSZ; "$jot" small $long || echo "status $?") 2>&1 | say; ls -A
                """)
            #expect(
                output == """
                    hydrant-jot: folder: not UTF-8 text
                    status 1
                    kept
                    hydrant-jot: folder: not UTF-8 text
                    status 1
                    in.txt
                    inner
                    hydrant-jot: latin: not UTF-8 text
                    status 1
                       a 377   b  \\n
                      \\n   a  \\r  \\n  \\n  \\n   b  \\n   w   o   r   d  \\n
                    steering (normal): a?]0;x?
                    hydrant-jot: S/small: File too large
                    status 1
                    folder
                    gaps
                    latin
                    shown
                    small
                    steering

                    """, "\(output)")
        }
    }

    @Test(
        "another user's document: read-only ones are refused; others keep their group where possible, and gain no rights"
    )
    func otherUsers() async throws {
        try await DocumentTests.with { mount in
            let output = try mount.run(
                """
                exec 2>&1
                own="$SCRATCH/own"; mkdir "$own"; chmod 777 "$own"; chmod 755 "$SCRATCH" "$(dirname "$SCRATCH")"
                cp "$(dirname "$HYDRANT")/hydrant-jot" "$own/jot"; cd "$own"
                user() { setpriv --reuid=65534 --regid=65534 --groups="$1" env HOME="$own" "$own/jot" "$2" word || echo "status $?"; }
                file() { echo old >"$1"; chown "$2" "$1"; chmod "$3" "$1"; }
                file read-only 0:0 644; user 65534 "$own/read-only" 2>&1 | sed "s|$own|O|"
                file group 0:100 660; user 100 "$own/group"
                file none 0:0 4676; user 65534 "$own/none"
                stat -c '%n %u:%g %a' read-only group none; cat group none read-only
                """)
            #expect(
                output == """
                    hydrant-jot: O/read-only: Permission denied; it is read-only: make it writable, or save the document elsewhere
                    status 1
                    read-only 0:0 644
                    group 65534:100 660
                    none 65534:65534 666
                    old
                    word
                    old
                    word
                    old

                    """, "\(output)")
        }
    }
}
