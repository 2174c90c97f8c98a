import Foundation
import MountHarness
import Testing

/// A directory that root mounts for others, and file systems that are mounted in it.
@Suite("Rights of a directory's files, and limits of its file systems")
struct StoreRightsTests {
    private static func run(_ script: String, _ mount: MountedStore) throws -> ChildResult {
        let prelude = #"""
            set -e
            sandbox=$(dirname "$STORE")
            user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
            inside() { user bash -c "set -e; cd \"$MOUNT\"; exec 2>&1; $1"; }
            chmod 755 "$sandbox"
            cd "$STORE"

            """#
        return try mount.sandbox.run(
            [
                "unshare", "--mount", "--propagation", "private", "bash", "-c",
                Sandbox.withoutOthersMounts + prelude + script,
            ],
            environment: mount.environment, limit: 50)
    }

    @Test("a user cannot make a setuid file in root's store by any way; root's own setuid files work")
    func setuid() async throws {
        try await withSandbox { mount in
            let result = try Self.run(
                #"""
                echo x >theirs; chmod 755 theirs; echo y >tool; chmod 4755 tool; echo z >secret; chmod 660 secret
                # u::rw-, u:1:rw-, g::---, m::rw-, o::---
                setfattr -n system.posix_acl_access -v 0x0200000001000600ffffffff020006000100000004000000ffffffff10000600ffffffff20000000ffffffff secret
                cd "$sandbox"
                "$HYDRANT" mount "dir:$STORE" "$MOUNT" --state-dir "$sandbox/state" --uid 65534 --gid 65534 -o allow_other,suid
                trap 'cd /; "$HYDRANT" unmount "$MOUNT" >&2' EXIT
                stat -c '%n %a' "$MOUNT"/tool "$MOUNT"/secret
                inside '
                    cp /bin/true shell; chmod 6755 shell
                    mkdir group; chmod 2777 group
                    chmod 6755 theirs; echo more >>theirs; chmod 6755 theirs
                    cp shell saved; chmod 4755 saved; mv saved theirs
                    install -m 4755 /bin/true installed; cp -p installed copied
                    stat -c "%n %a" shell
                '
                "$HYDRANT" sync "$MOUNT" --timeout 20 >&2
                inside 'echo 1 >>shell; chmod 6755 shell theirs; touch installed'
                cp /bin/true "$MOUNT/roots"; chmod 4755 "$MOUNT/roots"
                "$HYDRANT" sync "$MOUNT" --timeout 20 >&2
                cd "$STORE"
                stat -c '%n %a %u' -- *
                """#, mount)
            #expect(result.succeeded, "\(result)")
            #expect(
                result.stdout == """
                    \(mount.mountPoint)/tool 755
                    \(mount.mountPoint)/secret 600
                    shell 6755
                    copied 755 0
                    group 777 0
                    installed 755 0
                    roots 4755 0
                    secret 660 0
                    shell 755 0
                    theirs 755 0
                    tool 4755 0

                    """, "\(result)")
        }
    }

    @Test("mv into a file system that is mounted in the store copies, and the moved items arrive")
    func volumes() async throws {
        try await withSandbox { mount in
            let result = try Self.run(
                #"""
                mkdir early late early/there; echo a >a; echo b >b; mkdir folder; echo c >folder/c
                mount -t tmpfs none early; mkdir early/sub; echo inner >early/doc
                cd "$sandbox"
                "$HYDRANT" mount "dir:$STORE" "$MOUNT" --state-dir "$sandbox/state"
                trap 'cd /; "$HYDRANT" unmount "$MOUNT" >&2; umount -l "$STORE/early" "$STORE/late" >&2 || true' EXIT
                ls -R "$MOUNT" >/dev/null
                rename() { python3 -c 'import errno, os, sys
                try: os.rename(sys.argv[1], sys.argv[2])
                except OSError as error: print(errno.errorcode[error.errno])
                else: print("renamed")' "$@"; }
                cd "$MOUNT"
                rename a early/a; rename early/doc doc; rename folder early/sub/folder; rename early other
                rename early/doc early/sub/doc
                mount -t tmpfs none "$STORE/late"; echo mine >"$STORE/late/mine"
                for i in $(seq 600); do
                    if [ -e late/mine ]; then break; fi
                    sleep 0.1
                done
                rename b late/b
                mv a early; mv folder early/sub; mv b late; mv early/sub/doc .
                "$HYDRANT" sync "$MOUNT" --timeout 20 >&2
                cd "$STORE"
                find . -type f | sort | while read -r file; do echo "$file $(cat "$file")"; done
                """#, mount)
            #expect(result.succeeded, "\(result)")
            #expect(
                result.stdout == """
                    EXDEV
                    EXDEV
                    EXDEV
                    EACCES
                    renamed
                    EXDEV
                    ./doc inner
                    ./early/a a
                    ./early/sub/folder/c c
                    ./late/b b
                    ./late/mine mine

                    """, "\(result)")
        }
    }
}
