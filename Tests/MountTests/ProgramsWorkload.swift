import ControlAPI
import Foundation
import MountHarness
import Testing

/// A whole piece of work that somebody does with real programs in the mount. Afterwards the store is the mount, byte
/// for byte; and the work is whole in the mount, in the store, and in a mount that has none of its bytes here.
struct ProgramsWorkload: Sendable {
    static let modes: [MountOptions] = [
        .with { $0.limit = 300 },
        .with {
            $0.limit = 300
            $0.passthrough = false
        },
    ]
    /// For work like that of other workloads: in the short form only as it is for ordinary users, without passthrough.
    static let usualModes = LongTests.areOn ? modes : [modes[1]]

    /// Runs before the store is mounted, in `$SCRATCH`.
    var prepare = ""
    /// Runs in the mount.
    var work: String
    /// Runs in `$TREE`: the mount, a copy of the store, the mount again. Changes nothing there.
    var check: String
    /// What the check prints, each time.
    var says: String
    /// What is in the store that is no file of the mount's, or the reverse; nothing as a rule.
    var attributesMayBeRefused = false

    /// - Parameter emptied: when everything has been evicted, the store mounted again, and the work found whole.
    func run(
        _ options: MountOptions, emptied: @escaping @Sendable (MountedStore) throws -> Void = { _ in }
    ) async throws {
        try await withSandbox(options) { mount in
            let prepared = try mount.sandbox.run(
                ["bash", "-c", "set -e -o pipefail; cd \"$SCRATCH\"\n" + prepare], environment: mount.environment,
                limit: 60)
            try #require(prepared.succeeded, "\(prepared)")
            try mount.mount()
            let daemon = try mount.daemonPID()
            try mount.run(work, limit: 150)
            try checkWhole(mount, mount.mountPoint)

            try mount.sync(limit: 60)
            try mount.requireSameTree(attributesMayBeRefused: attributesMayBeRefused)
            // Of a copy: git and SQLite write beside what they only look at.
            try mount.run("cp -a \"$STORE\" \"$SCRATCH/copy\"", limit: 60)
            try checkWhole(mount, mount.scratch + "/copy")
            #expect(try mount.daemonPID() == daemon)

            try mount.evictAll()
            try mount.remount()
            mount.forgetCalls()
            try checkWhole(mount, mount.mountPoint)
            try emptied(mount)
            try mount.sync(limit: 60)
            try mount.requireSameTree(attributesMayBeRefused: attributesMayBeRefused)
            let copies = try mount.run("find . -name '*conflicted copy*'")
            #expect(copies == "")
        }
    }

    private func checkWhole(_ mount: MountedStore, _ tree: String) throws {
        let result = try mount.run("export TREE='\(tree)'; cd \"$TREE\"\n" + check, limit: 100)
        #expect(result == says, "in \(tree)")
    }

    /// A tree of documents in `$SCRATCH/source`: of all sizes, modes, dates and depths, links, an empty folder, one
    /// document that is large and sparse, and a name that is no text.
    static let tree = """
        python3 - <<'PYTHON'
        import os, random
        root = os.environ["SCRATCH"] + "/source"
        dice = random.Random(1)
        for n in range(120):
            folder = "%s/%d/%s" % (root, n % 7, "deep/" * (n // 7 % 4))
            os.makedirs(folder, exist_ok=True)
            path = folder + "document %d.dat" % n
            with open(path, "wb") as file: file.write(dice.randbytes(n * n * 3 % 9000))
            os.chmod(path, [0o644, 0o600, 0o755, 0o444][n % 4])
            os.utime(path, ns=(10**18, 10**18 + n * 1234567))
        os.makedirs(root + "/empty")
        os.symlink("../2/document 2.dat", root + "/3/link"); os.symlink("nowhere", root + "/dangling")
        with open(root + "/\\u00fcmlaut", "w") as file: file.write("\\u00fc")
        with open(root + "/large", "wb") as file:
            file.write(dice.randbytes(2_000_000)); file.seek(5_000_000); file.write(b"end")
        # (To zip two dates within two seconds are the same.)
        os.utime(root + "/large", ns=(10**18, 10**18))
        PYTHON

        """
}
