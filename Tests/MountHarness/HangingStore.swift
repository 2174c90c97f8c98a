package import Foundation

/// Mounts a store that stops answering. For `dir:` that is a store on a file system that hangs: another Hydrant mount,
/// at `$SCRATCH/below`, whose daemon is stopped.
///
/// - Parameters:
///   - seed: fills the store before it is mounted.
///   - prepare: runs in the mount before the store hangs: documents that it reads are downloaded.
///   - body: gets the process id of the lower daemon, to be continued with SIGCONT.
package func withHangingStore(
    _ options: MountOptions = MountOptions(), seed: @escaping @Sendable (String) throws -> Void,
    prepare: String = "ls -l >/dev/null", _ body: @escaping @Sendable (MountedStore, pid_t) throws -> Void
) async throws {
    try await withSandbox(options) { mount in
        try seed(mount.store)
        try Seeding(mount.scratch).folder("below")
        let lowerState = mount.sandbox.path + "/lower"
        let lower = try mount.hydrant([
            "mount", "dir:\(mount.store)", mount.scratch + "/below", "--state-dir", lowerState,
        ])
        guard lower.succeeded else { throw HarnessError("lower mount: \(lower)") }
        let pid = try Int32(Seeding(lowerState).text("lock").trimmingCharacters(in: .whitespacesAndNewlines))
        guard let pid, pid > 1 else { throw HarnessError("no process id of the lower daemon") }
        let upper = try mount.hydrant([
            "mount", "dir:\(mount.scratch)/below", mount.mountPoint, "--state-dir", mount.sandbox.state,
            "--log-level", "debug",
        ])
        guard upper.succeeded else { throw HarnessError("upper mount: \(upper)") }
        // From here on names and sizes are known.
        try mount.run(prepare)
        kill(pid, SIGSTOP)
        defer { kill(pid, SIGCONT) }
        try body(mount, pid)
    }
}
