import Foundation
import MountHarness
import Testing

/// hydrant-passthrough, installed as the documentation says.
@Suite("Passthrough for an ordinary user")
struct PassthroughHelperTests {
    private static let scripts =
        URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path + "/scripts"

    /// In a mount namespace of its own, in which /dev/fuse is for everybody, as it is on most machines.
    private static let script = #"""
        set -e
        sandbox=$(dirname "$STORE")
        user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
        inside() { user bash -c "set -e; cd \"$MOUNT\"; exec 2>&1; $1"; }
        passthrough() { user "$HYDRANT" status | grep -o 'passthrough [a-z]*'; }
        daemon() { user "$HYDRANT" status | grep -o '(pid [0-9]*' | cut -c 6-; }
        helper() { pgrep -P "$(daemon)"; }
        cd /
        mknod "$sandbox/fuse" c 10 229; chmod 666 "$sandbox/fuse"; mount --bind "$sandbox/fuse" /dev/fuse
        mkdir "$sandbox/bin"
        cp "$HYDRANT" "$sandbox/bin"; HYDRANT=$sandbox/bin/hydrant
        export HYDRANT_PASSTHROUGH_HELPER=$sandbox/bin/hydrant-passthrough
        "$SCRIPTS/install-passthrough" --to "$sandbox/bin" 2>"$sandbox/installed" || cat "$sandbox/installed"
        cd "$sandbox"; mkdir state
        head -c 3000000 /dev/urandom >"$STORE/doc"
        chmod 755 . bin && chown -R 65534:65534 store mnt run tmp log data home state && chmod 755 mnt
        mounted() { user "$HYDRANT" mount "dir:$STORE" "$MOUNT" --state-dir "$sandbox/state"; }
        trap 'cd /; user "$HYDRANT" unmount "$MOUNT" >&2' EXIT
        """#

    private func run(_ script: String, _ check: @escaping @Sendable (ChildResult) -> Void) async throws {
        try await withSandbox { mount in
            let result = try mount.sandbox.run(
                [
                    "unshare", "--mount", "--propagation", "private", "bash", "-c",
                    Sandbox.withoutOthersMounts + Self.script + "\n" + script,
                ],
                environment: mount.environment.merging(["SCRIPTS": Self.scripts]) { $1 }, limit: 35)
            check(result)
        }
    }

    @Test("with the capability, documents bypass the daemon; when the helper dies, the daemon copies")
    func installed() async throws {
        try await run(
            #"""
            mounted; passthrough
            inside 'cat doc >/dev/null; cmp doc "'"$STORE"'/doc"'
            # Who has it open goes on while the daemon stands still.
            cat >held.py <<'END'
            import os, signal, sys
            file = os.open(sys.argv[1], os.O_RDWR)
            os.pwrite(file, b"h", 0) # (At the first write the kernel asks for security.capability.)
            os.kill(int(sys.argv[2]), signal.SIGSTOP)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                print(len(os.pread(file, 1 << 20, 1 << 20)), os.pwrite(file, b"hello", 0))
            finally:
                os.kill(int(sys.argv[2]), signal.SIGCONT)
            END
            for try in 1 2 3 4 5; do
                user timeout 20 /usr/bin/python3 held.py "$MOUNT/doc" "$(daemon)" && break
                # (The kernel has not let go of the earlier one yet.)
                kill -CONT "$(daemon)"; sleep 2
            done
            inside '
            echo written >new; echo more >>doc
            '
            user "$HYDRANT" sync "$MOUNT" --timeout 20
            head -c 5 "$STORE/doc"; tail -n 1 "$STORE/doc" | tail -c 5; cat "$STORE/new"
            kill -9 "$(helper)"
            inside 'cat new; echo after >>new; cat new; cmp doc "'"$STORE"'/doc"'
            passthrough
            user "$HYDRANT" sync "$MOUNT" --timeout 20
            cat "$STORE/new"
            """#
        ) { result in
            #expect(result.succeeded, "\(result)")
            #expect(
                result.stdout
                    == "passthrough yes\n1048576 5\nhellomore\nwritten\nwritten\nwritten\nafter\npassthrough no\nwritten\nafter\n",
                "\(result)")
        }
    }

    @Test("the helper ends with a killed daemon, whose mount then fails at once")
    func killed() async throws {
        try await run(
            #"""
            mounted; passthrough
            inside 'cat doc >/dev/null'
            helper=$(helper)
            kill -9 "$(daemon)"
            for i in $(seq 1200); do [ -e "/proc/$helper" ] || break; sleep 0.05; done
            [ -e "/proc/$helper" ] && echo "it goes on"
            user cat "$MOUNT/doc" 2>&1 | grep -o 'Transport.*'
            mounted; passthrough
            inside 'cmp doc "'"$STORE"'/doc"'
            """#
        ) { result in
            #expect(
                result.stdout == "passthrough yes\nTransport endpoint is not connected\npassthrough yes\n", "\(result)")
            #expect(result.succeeded, "\(result)")
        }
    }

    @Test("a copy of the helper, which lacks the capability, is not used")
    func notInstalled() async throws {
        try await run(
            #"""
            PATH=$PATH:/usr/sbin setcap -r "$HYDRANT_PASSTHROUGH_HELPER"
            mounted; passthrough
            inside 'cmp doc "'"$STORE"'/doc"; echo written >new'
            helper || echo no helper
            """#
        ) { result in
            #expect(result.stdout == "passthrough no\nno helper\n", "\(result)")
            #expect(result.succeeded, "\(result)")
        }
    }

    @Test("the helper gives its user no access beyond his own")
    func attacked() async throws {
        try await withSandbox(.with { $0.limit = 100 }) { mount in
            let result = try mount.sandbox.run(
                [Self.scripts + "/passthrough-attack", "--rounds", "3000"], limit: 90)
            if result.status == 77 { return print("skipped: \(result.stdout)\(result.stderr)") }
            #expect(result.succeeded, "\(result)")
        }
    }

    @Test("the helper is not installed where users other than root may write, or rename a folder above")
    func foldersOfOthers() async throws {
        try await withSandbox { mount in
            chmod(mount.sandbox.path, 0o755)
            chmod(mount.scratch, 0o755)
            let script = #"""
                cd "$SCRATCH"
                mkdir root everybody group theirs theirs/in loose loose/in sticky sticky/in
                chmod 777 everybody loose; chmod 775 group; chmod 1777 sticky; chown 65534 theirs; ln -s everybody link
                for folder in root everybody group theirs theirs/in loose/in link sticky sticky/in; do
                    if "$SCRIPTS/install-passthrough" --to "$SCRATCH/$folder" 2>"$SCRATCH/said"; then
                        echo "$folder: installed"
                    elif grep -q "others than root may write" said; then
                        echo "$folder: refused"
                    else
                        cat said
                    fi
                done
                find . -name '*hydrant-passthrough*' | sort
                ln -s root alias
                "$SCRIPTS/install-passthrough" --to "$SCRATCH/alias" 2>&1 | grep -o 'installed: [^;]*'
                """#
            let result = try mount.sandbox.run(
                ["bash", "-c", script],
                environment: mount.environment.merging(["SCRIPTS": Self.scripts]) { $1 }, limit: 60)
            #expect(
                result.stdout == """
                    root: installed
                    everybody: refused
                    group: refused
                    theirs: refused
                    theirs/in: refused
                    loose/in: refused
                    link: refused
                    sticky: refused
                    sticky/in: installed
                    ./root/hydrant-passthrough
                    ./sticky/in/hydrant-passthrough
                    installed: \(mount.scratch)/root/hydrant-passthrough

                    """, "\(result)")
        }
    }
}
