import ContentStore
import ControlAPI
import FUSE
import FileProvider
import Foundation
import ItemCatalog
package import Logging
import MountFrontend
import SyncEngine
import Volume

/// One mounted domain in one process: builds the parts, joins them, runs them.
package struct Daemon: Sendable {
    private let configuration: DaemonConfiguration
    private let logger: Logger

    package init(_ configuration: DaemonConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Mounts, calls `ready` when requests are answered, and returns when the mount is gone.
    package func run(ready: @escaping @Sendable () -> Void) async throws(DaemonError) {
        // What the domain keeps is its owner's alone.
        umask(0o077)
        let store = try StoreURL(configuration.store)
        let mountPoint = try MountPoint.prepare(configuration.mountPoint)
        try store.checkApart(from: mountPoint)
        let state = try StateDirectory(path: try statePath(store))
        let parts = try build(store, state)
        let link = SessionLink()
        let volume = Volume(engine: parts.engine, kernel: link, backing: link)
        do { try volume.recover() } catch { throw DaemonError("\(state.path): \(error)") }

        let session = try mount(store, mountPoint, volume, parts, link)
        let service = DomainService(
            volume: volume, domain: store.domainName, provider: store.canonical, mountPoint: mountPoint,
            hasPassthrough: { session.passthroughAvailable })
        let server: ControlServer
        do {
            server = ControlServer(
                socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint), service: service, logger: logger)
            try await server.start()
        } catch {
            session.exit()
            _ = await loop(session)
            throw DaemonError("\(error)")
        }
        let signals = SignalWatcher { session.exit() }
        parts.engine.start()
        logger.info(
            "mounted", metadata: ["store": "\(store.canonical)", "at": "\(mountPoint)", "state": "\(state.path)"])
        async let ended = loop(session)
        ready()
        _ = await ended
        signals.stop()
        logger.info("unmounted", metadata: ["at": "\(mountPoint)"])
        await server.stop()
        // What has been committed is safe without it; it only tidies up the write-ahead log.
        if await parts.engine.stop() { parts.catalog.close() }
    }

    private struct Parts {
        var engine: SyncEngine
        var catalog: Catalog
    }

    private func build(_ store: StoreURL, _ state: StateDirectory) throws(DaemonError) -> Parts {
        let provider = try store.makeProvider(logger: logger)
        do {
            let catalog = try Catalog(
                path: state.catalogPath, domain: store.canonical, owner: (geteuid(), getegid()))
            let content = try ContentStore(directory: state.storePath)
            let context = SyncContext(
                provider: provider, catalog: catalog, store: content, times: configuration.times,
                defaults: PlaceholderDefaults(uid: geteuid(), gid: getegid()), logger: logger)
            return Parts(engine: SyncEngine(context: context), catalog: catalog)
        } catch {
            throw DaemonError("\(error)")
        }
    }

    private func mount(
        _ store: StoreURL, _ mountPoint: String, _ volume: Volume, _ parts: Parts, _ link: SessionLink
    ) throws(DaemonError) -> FUSESession {
        let source = store.canonical.replacing(",", with: "\\,")
        let frontend = MountFrontend(volume: volume, workers: parts.engine.context.workers)
        do {
            var options = FUSESession.Options()
            options.mountOptions =
                ["default_permissions", "subtype=hydrant", "fsname=\(source)"] + configuration.mountOptions
            options.passthrough = configuration.passthrough
            let session = try FUSESession(mountPoint: mountPoint, options: options, fileSystem: frontend)
            try session.mount()
            link.attach(session)
            return session
        } catch {
            throw DaemonError("\(error)")
        }
    }

    /// Runs the session's loop on threads of its own, never on the cooperative pool.
    private func loop(_ session: FUSESession) async -> Int32 {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: session.run()) }
            thread.name = "fuse-loop"
            thread.start()
        }
    }

    private func statePath(_ store: StoreURL) throws(DaemonError) -> String {
        guard let path = configuration.stateDirectory else {
            return try StateDirectory.defaultPath(domain: store.domainName)
        }
        return path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
