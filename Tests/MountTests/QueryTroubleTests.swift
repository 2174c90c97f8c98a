import ControlAPI
import Foundation
import MountHarness
import Testing
import WebDAVHarness

/// Queries whose program, or whose daemon, does not do its part.
@Suite("Metadata queries in trouble")
struct QueryTroubleTests {
    @Test("a query ends with its program, and many queries do not block other requests")
    func abandoned() async throws {
        // (Names on which patterns take long.)
        let names = (0..<4_000).map { String(repeating: "name ", count: 20) + "\($0)" }
        try await withMount(
            .with { $0.limit = 120 },
            seed: { store in
                for name in names { try Seeding(store).file(name, "") }
                try Seeding(store).file("readable.txt", "read\n")
            }
        ) { mount in
            let query = (0..<480).map { "name:*h\($0)z*q*" }.joined(separator: " OR ")
            let shown = try mount.run(
                """
                ls >/dev/null
                for i in $(seq 18); do timeout 4 "$HYDRANT" find '\(query)' --in . >/dev/null 2>&1 & done
                sleep 1
                timeout 20 cat readable.txt; timeout 20 "$HYDRANT" status readable.txt >/dev/null
                echo written >new.txt; timeout 20 "$HYDRANT" sync --quiet "$MOUNT"
                wait
                timeout 20 "$HYDRANT" find readable --in .
                """, limit: 90)
            #expect(shown == "read\n\(mount.mountPoint)/readable.txt\n")
        }
    }

    @Test("a daemon that hangs is reported, and other domains' results are shown")
    func hanging() async throws {
        try await withMount(
            .with { $0.limit = 60 }, seed: { try Seeding($0).file("report.txt", "") }
        ) { mount in
            _ = try mount.run(
                """
                mkdir "$SCRATCH/second" "$SCRATCH/here"; echo x >"$SCRATCH/second/report two.txt"
                "$HYDRANT" mount dir:"$SCRATCH/second" "$SCRATCH/here" --domain second; ls "$SCRATCH/here"
                """)
            let pid = try mount.daemonPID()
            kill(pid, SIGSTOP)
            defer { kill(pid, SIGCONT) }
            let result = try mount.hydrant(["find", "report"], limit: 40)
            #expect(result.status == 69 && result.stdout == "\(mount.scratch)/here/report two.txt\n", "\(result)")
            #expect(result.stderr.contains("\(mount.mountPoint): its daemon has said nothing for 10 s"), "\(result)")
            kill(pid, SIGCONT)
            _ = try mount.hydrant(["unmount", mount.scratch + "/here"])
        }
    }

    @Test("changes are gathered for the interval each time, not only the first time")
    func intervals() async throws {
        try await withMount(seed: { try Seeding($0).file("report.txt", "") }) { mount in
            let shown = try mount.run(
                """
                "$HYDRANT" find --live --interval 1 report --in . >"$SCRATCH/out" & pid=$!
                until grep -q . "$SCRATCH/out"; do sleep 0.05; done
                for i in 1 2 3; do
                    began=$(date +%s%3N); echo x >"report $i.txt"
                    until grep -q "report $i" "$SCRATCH/out"; do sleep 0.02; done
                    echo $(($(date +%s%3N) - began))
                    # What follows it is told before the next one is made.
                    "$HYDRANT" sync --quiet "$MOUNT"; sleep 2.5
                done
                kill $pid
                """, limit: 35)
            let times = shown.split(separator: "\n").compactMap { Int($0) }
            // (Something else may have changed just before one of them.)
            #expect(times.count == 3 && times.dropFirst().contains { $0 >= 950 }, "\(times)")
        }
    }

    @Test("a program that was too late once is waited for the next time")
    func lateOnce() async throws {
        let patience = 2
        try await withMount(
            .with {
                $0.environment["HYDRANT_PRESENTER_PATIENCE"] = "\(patience)"
                $0.limit = 60
            }, seed: { try Seeding($0).file("report.txt", "") }
        ) { mount in
            let shown = try mount.run(
                """
                write() { "$HYDRANT" coordinate --write "$MOUNT/report $1.txt" -- sh -c 'echo x >"$0"' "$MOUNT/report $1.txt"; }
                "$HYDRANT" find --live --interval 600 report --in . >"$SCRATCH/out" & pid=$!
                until grep -q . "$SCRATCH/out"; do sleep 0.05; done
                kill -STOP $pid; write 1; kill -CONT $pid
                until grep -q "report 1" "$SCRATCH/out"; do sleep 0.05; done
                for i in 2 3 4; do
                    kill -STOP $pid; (sleep 0.5; kill -CONT $pid) &
                    write $i; sleep 0.1; grep -c "report $i" "$SCRATCH/out" || true
                done
                kill $pid
                """, limit: 50)
            #expect(shown == "1\n1\n1\n")
        }
    }

    @Test("after a sign-out queries find nothing, running ones included")
    func signOut() async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        try await withServer(.nextcloud, options) { server in
            try await withSandbox(.with { $0.limit = 60 }) { mount in
                try Seeding(server.root).file("report.txt", "1")
                let words = """
                    set -e
                    "$HYDRANT" domain add work \(server.url) --user \(TestServer.user)
                    echo "\(TestServer.password)" | "$HYDRANT" login work --password-stdin
                    "$HYDRANT" mount work "$MOUNT"; ls "$MOUNT" >/dev/null
                    "$HYDRANT" find --live --interval 0.05 report --in "$MOUNT" >"$SCRATCH/out" 2>"$SCRATCH/said" & pid=$!
                    until grep -q '^+ .*report' "$SCRATCH/out"; do sleep 0.05; done
                    "$HYDRANT" logout work
                    until grep -q '^- .*report' "$SCRATCH/out"; do sleep 0.05; done
                    kill $pid; cat "$SCRATCH/said"
                    "$HYDRANT" find report --in "$MOUNT" || echo "status $?"
                    """
                let result = try mount.sandbox.run(["sh", "-c", words], environment: mount.environment, limit: 40)
                #expect(result.stdout.hasSuffix("status 1\n"), "\(result)")
                #expect(result.stderr.contains("in no mounted domain"), "\(result)")
            }
        }
    }

    @Test("a negated term that looks like an option gets a hint")
    func notAnOption() async throws {
        try await withMount(seed: { try Seeding($0).file("report.txt", "") }) { mount in
            let wrong = try mount.hydrant(["find", "-name:report", "--in", mount.mountPoint])
            let advice = "write NOT name:report, or put the whole query behind --"
            #expect(wrong.status == 64 && wrong.stderr.contains(advice), "\(wrong)")
            for words in [["NOT", "name:report"], ["--", "-name:report"], ["--", "-report"]] {
                let result = try mount.hydrant(["find", "--in", mount.mountPoint] + words)
                #expect(result.status == 0 && result.stdout == "", "\(result)")
            }
        }
    }

    @Test("texts in any script are found, endless markup is read, and deleted documents are not counted")
    func texts() async throws {
        try await withMount(.with { $0.limit = 90 }) { mount in
            func until(_ words: String, _ wanted: String) throws {
                try waitUntil(30, "\(words): \(wanted)") { try mount.run("\"$HYDRANT\" \(words)").contains(wanted) }
            }
            _ = try mount.run(
                """
                printf 'नमस्ते दुनिया' >hindi.txt; printf 'كَتَبَ الوَلَدُ' >arabic.txt
                python3 -c 'print("<" * 4000000 + " endless ")' >angles.html
                "$HYDRANT" index on "$MOUNT"
                """)
            try until("find 'text:दुनिया' --in .", "hindi.txt")
            try until("find 'text:كَتَبَ' --in .", "arabic.txt")
            try until("find text:endless --in .", "angles.html")
            try until("index status --json \"$MOUNT\"", "\"documents\" : 3")
            _ = try mount.run("rm hindi.txt")
            try until("index status --json \"$MOUNT\"", "\"documents\" : 2")
            _ = try mount.run("\"$HYDRANT\" index off \"$MOUNT\"")
        }
    }
}
