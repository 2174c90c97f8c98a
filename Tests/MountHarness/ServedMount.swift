import FUSE
package import FileProvider
import Foundation
import ItemCatalog
import Logging
import MountFrontend
package import SyncEngine
package import Trees
package import Volume

/// A real mount served by this process, over any provider. Code of this process must not access the mount; child
/// processes do.
package final class ServedMount: Sendable {
    package let sandbox: Sandbox
    package let volume: Volume
    private let catalog: Catalog
    private let session: FUSESession
    private let ended = DispatchSemaphore(value: 0)

    fileprivate init(_ sandbox: Sandbox, _ provider: any FileProviderExtension, _ times: SyncTimes, _ options: [String])
        throws
    {
        self.sandbox = sandbox
        let link = SessionLink()
        let (volume, catalog) = try InProcessStore.build(
            provider: provider, directory: sandbox.scratch, times: times, kernel: link, backing: link)
        (self.volume, self.catalog) = (volume, catalog)
        let frontend = MountFrontend(showing: volume, workers: volume.engine.mount.workers)
        var sessionOptions = FUSESession.Options()
        sessionOptions.mountOptions = ["default_permissions", "subtype=hydrant", "fsname=test"] + options
        session = try FUSESession(mountPoint: sandbox.mountPoint, options: sessionOptions, fileSystem: frontend)
        try session.mount()
        link.attach(session)
        Thread { [self] in
            _ = session.run()
            ended.signal()
        }.start()
        volume.engine.start()
    }

    fileprivate func end() {
        session.exit()
        _ = ended.wait(timeout: .now() + 10)
        try? blocking { [volume] in _ = await volume.engine.stop() }
    }

    /// Runs a script in the mount; throws unless it succeeds. Returns its output, with standard error.
    @discardableResult
    package func run(_ script: String, limit: Double = 20) throws -> String {
        let result = try shell(script, limit: limit)
        guard result.succeeded else { throw HarnessError("“\(script)”: \(result)") }
        return result.stdout
    }

    /// As ``run(_:limit:)``; returns a failure instead of throwing.
    package func shell(_ script: String, limit: Double = 20) throws -> ChildResult {
        try sandbox.run(["bash", "-c", "set -e -o pipefail; cd \"$MOUNT\"\nexec 2>&1\n" + script], limit: limit)
    }

    package func sync(limit: Double = 60) throws -> [ItemRecord] {
        try blocking { [volume] in try await volume.engine.sync(timeout: limit) }
    }
}

/// Mounts a provider for one scenario, and always cleans up; as ``withMount(_:seed:_:)``.
package func withServedMount(
    _ provider: any FileProviderExtension, times: SyncTimes = .quick, options: [String] = [], limit: Double = 40,
    _ body: @escaping @Sendable (ServedMount) throws -> Void
) async throws {
    await MountSlots.shared.take(1)
    defer { MountSlots.shared.give(1) }
    try await onThread {
        let sandbox = try Sandbox()
        let watchdog = Watchdog(limit: limit) { sandbox.forceDown() }
        let result = Result {
            let mount = try ServedMount(sandbox, provider, times, options)
            defer { mount.end() }
            try body(mount)
        }
        watchdog.end()
        let cleaned = Result { try sandbox.remove() }
        if watchdog.hasFired { throw HarnessError("the scenario took longer than \(limit) s and was ended by force") }
        try result.get()
        try cleaned.get()
    }
}
