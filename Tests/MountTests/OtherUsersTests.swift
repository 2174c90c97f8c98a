import ControlAPI
import Foundation
import MountHarness
import Testing

/// Several users of one machine: what one of them mounts is no business of the others' commands and daemons.
@Suite("Other users' mounts")
struct OtherUsersTests {
    /// As an ordinary user, in a mount namespace in which /dev/fuse is for everybody. Root's mount is there as well.
    private static let script = #"""
        sandbox=$(dirname "$STORE"); own=$sandbox/own
        user() { setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_RUNTIME_DIR="$own/run" XDG_STATE_HOME="$own" "$HYDRANT" "$@"; }
        cd /
        mknod "$sandbox/fuse" c 10 229; chmod 666 "$sandbox/fuse"; mount --bind "$sandbox/fuse" /dev/fuse
        cp "$HYDRANT" "$sandbox/hydrant"; HYDRANT=$sandbox/hydrant
        chmod 755 "$sandbox" "$MOUNT"
        mkdir -p "$own"/{store,mnt,state,run}; echo x >"$own/store/doc"
        chown -R 65534:65534 "$own"; chmod 700 "$own/run"
        say() { sed "s,$sandbox,S,g"; }
        for command in "status" "retry" "conflicts" "sync"; do
            user $command 2>&1 | say; echo "$command: ${PIPESTATUS[0]}"
        done
        user status "$MOUNT/doc" 2>&1 | say; echo "named: ${PIPESTATUS[0]}"
        user mount "dir:$own/store" "$own/mnt" --state-dir "$own/state" || exit 1
        user status 2>&1 | say | sed 's/ *(pid.*//' | head -n 1; echo "status: ${PIPESTATUS[0]}"
        user sync && echo synced
        user mount "dir:$own/store" "$MOUNT" --state-dir "$own/other" 2>&1 | say
        user unmount "$MOUNT" 2>&1 | say
        user unmount "$own/mnt"
        """#

    @Test(
        "an ordinary user's status, retry, conflicts and sync use his own mounts only; another user's mount is named")
    func ownOnly() async throws {
        try await withMount { mount in
            let arguments = [
                "unshare", "--mount", "--propagation", "private", "bash", "-c",
                Sandbox.withoutOthersMounts + Self.script,
            ]
            let result = try mount.sandbox.run(arguments, environment: mount.environment, limit: 30)
            #expect(result.succeeded, "\(result)")
            #expect(
                result.stdout == """
                    nothing is mounted
                    status: 0
                    hydrant: nothing is mounted
                    retry: 69
                    hydrant: nothing is mounted
                    conflicts: 69
                    hydrant: nothing is mounted
                    sync: 69
                    hydrant: S/mnt/doc: in a mount of root's (S/mnt), whose daemon answers only root; run this as root
                    named: 69
                    S/own/mnt  dir:S/own/store
                    status: 0
                    synced
                    hydrant: S/mnt: another user's mount is there; choose another directory
                    hydrant: S/mnt: in a mount of root's (S/mnt), whose daemon answers only root; run this as root

                    """, "\(result)")
        }
    }

    /// A mount with the type and the source of a scoped folder, as mount(2) takes them from anybody who may mount.
    private static let falseFolder = #"""
        import ctypes, os, sys, time
        device = os.open("/dev/fuse", os.O_RDWR)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device
        mount = ctypes.CDLL(None, use_errno=True).mount
        if mount(os.fsencode(sys.argv[2]), os.fsencode(sys.argv[1]), b"fuse.hydrant-scoped", 0, options) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
        print("mounted", flush=True)
        time.sleep(600)
        """#

    @Test("a file system that only claims to be a scoped folder of ours is not unmounted when a daemon starts")
    func falseScopedFolder() async throws {
        try await withSandbox { mount in
            try Seeding(mount.sandbox.scratch).folder("disk")
            try Seeding(mount.sandbox.runtime).folder("hydrant")
            try Seeding(mount.sandbox.runtime).folder("hydrant/scoped")
            try Seeding(mount.sandbox.runtime).folder("hydrant/scoped/old")
            chmod(mount.sandbox.runtime + "/hydrant", 0o700)
            chmod(mount.sandbox.runtime + "/hydrant/scoped", 0o700)
            // One outside of our folder, and one in it, as a killed daemon leaves it.
            let places = [mount.sandbox.scratch + "/disk", mount.sandbox.runtime + "/hydrant/scoped/old"]
            for place in places {
                let disk = try mount.sandbox.spawn(["python3", "-c", Self.falseFolder, place, mount.mountPoint])
                try waitUntil(10, "it is mounted") { disk.stdout.contains("mounted") }
            }
            try mount.mount()
            #expect(places.map { MountTable.mount(at: $0) != nil } == [true, false])
            #expect(access(places[1], F_OK) != 0)
            try mount.unmount()
        }
    }

    @Test("unmount does not follow a link in the place of a folder above the mount point")
    func linkAbove() async throws {
        try await withMount { mount in
            let name = (mount.sandbox.path as NSString).lastPathComponent
            for (link, target) in [("one", mount.sandbox.path), ("two", "/tmp")] {
                #expect(symlink(target, mount.sandbox.scratch + "/" + link) == 0)
            }
            for path in ["one/mnt", "two/\(name)/mnt"] {
                for lazily in [false, true] {
                    #expect(Unmounter.unmount("\(mount.sandbox.scratch)/\(path)", lazily: lazily) != nil)
                }
            }
            #expect(MountTable.mount(at: mount.mountPoint) != nil)
            let names = try mount.run("ls")
            #expect(names == "")
        }
    }
}
