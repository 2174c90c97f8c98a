import CLinux
import ContentStore
import ControlAPI
import DocumentServices
import FUSE
import FileProvider
import Foundation
import ItemCatalog
import Logging
import MountFrontend
import SyncEngine
import Trees
import Volume

/// One mounted domain in one process: creates the parts, connects them and runs them.
struct Daemon: Sendable {
    private let configuration: DaemonConfiguration
    private let location: StoreLocation
    private let registration: ProviderRegistration
    private let logger: Logger

    init(
        _ configuration: DaemonConfiguration, location: StoreLocation, registration: ProviderRegistration,
        logger: Logger
    ) {
        self.configuration = configuration
        self.location = location
        self.registration = registration
        self.logger = logger
    }

    /// Mounts, calls `ready` when the mount answers requests, and returns when the mount is gone.
    func run(ready: @escaping @Sendable () -> Void) async throws(DaemonError) {
        // Only the owner may read the files of the domain.
        umask(0o077)
        let mountPoint = try MountPoint.prepare(configuration.mountPoint)
        try StoreFolder(location)?.checkApart(from: mountPoint)
        let domain = configuration.domain ?? location.domainName
        let statePath = try statePath(domain)
        try StateDirectory.checkApart(statePath, mountPoint: mountPoint, store: StoreFolder(location))
        let provider = try await registration.provider(for: location, configuration.account)
        let parts = try build(provider, StateDirectory(path: statePath), domain, mountPoint)
        do { try await provider.beginServing(parts.served) } catch {
            throw DaemonError(location.secrets.scrubbed(DaemonError.line(for: error)))
        }
        parts.scopes.sweep()
        TemporaryCopies.sweep()
        let bookmarks = try bookmarks(of: parts)
        let session = try mount(parts)
        let service = service(for: parts, bookmarks, session)
        let server = try await startServer(service, session)
        await serve(parts, service, session, ready)
        await parts.scopes.endAll()
        service.picking.endAll()
        await server.stop()
        await service.queries.close()
        await service.thumbnails.close()
        try await close(parts, service.signOut)
    }

    // MARK: The parts

    /// The parts below the control socket. Nothing runs yet.
    private struct Parts {
        var state: StateDirectory
        var catalog: Catalog
        var engine: SyncEngine
        var link: SessionLink
        var volume: Volume
        var domain: String
        var mountPoint: String
        var identifiers: IdentifierBook
        var served: MountedDomain
        var scopes: ScopedFolders
    }

    private func build(
        _ provider: any FileProviderExtension, _ state: StateDirectory, _ domain: String, _ mountPoint: String
    ) throws(DaemonError) -> Parts {
        let (engine, catalog) = try engine(provider, state)
        let link = SessionLink()
        let volume = Volume(engine: engine, kernel: link, backing: link)
        do { try volume.recover(boot: configuration.boot ?? BootIdentifier.current) } catch {
            throw DaemonError("\(state.path): \(error)")
        }
        let identifiers: IdentifierBook
        do { identifiers = try IdentifierBook(keptAt: state.path + "/" + KeptFiles.identifiers) } catch {
            throw DaemonError("\(state.path): the places of its bookmarks cannot be read: \(error)")
        }
        return Parts(
            state: state, catalog: catalog, engine: engine, link: link, volume: volume, domain: domain,
            mountPoint: mountPoint, identifiers: identifiers,
            served: MountedDomain(volume: volume, mountPoint: mountPoint, identifiers: identifiers),
            scopes: ScopedFolders(volume: volume, kernel: link, mountPoint: mountPoint))
    }

    private func bookmarks(of parts: Parts) throws(DaemonError) -> BookmarkService {
        do {
            return try BookmarkService(
                volume: parts.volume, domain: parts.served, name: parts.domain, mountPoint: parts.mountPoint,
                stateDirectory: parts.state.path, scopes: parts.scopes)
        } catch {
            throw DaemonError("\(parts.state.path): the key or the rights of its bookmarks cannot be read: \(error)")
        }
    }

    private func service(for parts: Parts, _ bookmarks: BookmarkService, _ session: FUSESession) -> DomainService {
        let (volume, mountPoint, state) = (parts.volume, parts.mountPoint, parts.state)
        return DomainService(
            volume: volume, domain: parts.domain, provider: location.canonical, mountPoint: mountPoint,
            stateDirectory: state.path,
            hasPassthrough: { session.passthroughAvailable }, transport: { RequestTransport(session.transport) },
            coordination: CoordinationService(
                volume: volume, mountPoint: mountPoint, stateDirectory: state.path,
                patience: configuration.presenterPatience),
            bookmarks: bookmarks,
            signOut: SignOutService(volume: volume, scopes: parts.scopes, logger: logger) {
                folder throws(DaemonError) in
                try DomainRemoval.putAside(state, in: folder)
            },
            queries: QueryService(
                volume: volume, stateDirectory: state.path, domain: location.canonical,
                patience: configuration.presenterPatience),
            policy: PolicyService(parts.engine, configured: configuration.downloadRules, mountPoint: mountPoint),
            thumbnails: ThumbnailService(
                volume: volume, mountPoint: mountPoint, stateDirectory: state.path, cache: try? ThumbnailCache(),
                isConfigured: configuration.thumbnails),
            picking: PickerService(volume: volume, mountPoint: mountPoint),
            title: configuration.domain ?? (mountPoint as NSString).lastPathComponent)
    }

    // MARK: Running

    private func startServer(_ service: DomainService, _ session: FUSESession) async throws(DaemonError)
        -> ControlServer
    {
        do {
            let server = ControlServer(
                socketPath: try SocketDirectory.socketPath(mountPoint: service.mountPoint), service: service,
                logger: logger)
            try await server.start()
            return server
        } catch {
            session.exit()
            _ = await loop(session)
            throw DaemonError("\(error)")
        }
    }

    /// Returns when the mount is gone.
    private func serve(
        _ parts: Parts, _ service: DomainService, _ session: FUSESession, _ ready: @Sendable () -> Void
    ) async {
        let signals = SignalWatcher { session.exit() }
        parts.engine.start()
        service.thumbnails.begin()
        logger.info(
            "mounted",
            metadata: [
                "store": "\(location.canonical)", "at": "\(parts.mountPoint)", "state": "\(parts.state.path)",
            ])
        async let ended = loop(session)
        ready()
        // What only the start has used; a daemon may do nothing for hours.
        let trim = Task(executorPreference: parts.engine.mount.workers) {
            try await Task.sleep(for: .seconds(2))
            clinux_trim_memory()
        }
        _ = await ended
        trim.cancel()
        signals.stop()
        logger.info("unmounted", metadata: ["at": "\(parts.mountPoint)"])
    }

    /// Ends the engine and closes the catalog; after a sign-out removes the domain's state.
    private func close(_ parts: Parts, _ signOut: SignOutService) async throws(DaemonError) {
        let isIdle = await parts.engine.stop()
        let isOver = signOut.isOver()
        // Committed changes are safe without this; it only tidies up the write-ahead log.
        if isIdle {
            parts.volume.putAway()
            do { try parts.identifiers.refresh(from: parts.catalog) } catch {
                logger.warning("the places of bookmarks cannot be saved", metadata: ["error": "\(error)"])
            }
            parts.catalog.close()
        }
        if isOver { try DomainRemoval(of: parts.state).run() }
    }

    private func engine(
        _ provider: any FileProviderExtension, _ state: StateDirectory
    ) throws(DaemonError) -> (SyncEngine, Catalog) {
        let defaults = placeholderDefaults
        do {
            let catalog = try Catalog(
                path: state.catalogPath, domain: location.canonical, owner: (defaults.uid, defaults.gid),
                exclusions: configuration.exclusions, hold: configuration.hold)
            try StoreFolder(location)?.checkIsKnown(to: catalog)
            try catalog.write {
                try $0.applyDefaults(defaults, before: PlaceholderDefaults(uid: geteuid(), gid: getegid()))
            }
            let content = try ContentStore(directory: state.storePath)
            let engine = SyncEngine(
                provider: provider, catalog: catalog, store: content, times: configuration.times,
                defaults: defaults, cache: configuration.cache,
                isReadOnly: configuration.isReadOnly || provider.isReadOnly, logger: logger)
            engine.transfers.downloadLimit.set(configuration.downloadLimit)
            engine.transfers.uploadLimit.set(configuration.uploadLimit)
            return (engine, catalog)
        } catch {
            guard let error = error as? CatalogError, error.code == .wrongDomain else { throw DaemonError("\(error)") }
            let advice = configuration.domain.map { "the name \($0) is taken, choose another --domain" }
            throw DaemonError("\(error.message); \(advice ?? "use another --state-dir")")
        }
    }

    private var placeholderDefaults: PlaceholderDefaults {
        let mask = configuration.umask ?? 0o022
        return PlaceholderDefaults(
            uid: configuration.uid ?? geteuid(), gid: configuration.gid ?? getegid(), documentMode: 0o666 & ~mask,
            folderMode: 0o777 & ~mask)
    }

    private func mount(_ parts: Parts) throws(DaemonError) -> FUSESession {
        let source = location.canonical.replacing("\\", with: "\\\\").replacing(",", with: "\\,")
        let frontend = MountFrontend(showing: parts.volume, workers: parts.engine.mount.workers)
        do {
            var options = FUSESession.Options()
            options.mountOptions =
                ["default_permissions", "subtype=hydrant", "fsname=\(source)"]
                + (parts.engine.mount.isReadOnly ? ["ro"] : []) + configuration.mountOptions
            options.passthrough = configuration.passthrough
            options.passthroughHelper = configuration.passthroughHelper
            options.ring = configuration.ring
            options.mountPointIsResolved = true
            let session = try FUSESession(mountPoint: parts.mountPoint, options: options, fileSystem: frontend)
            try session.mount()
            parts.link.attach(session)
            return session
        } catch {
            throw DaemonError("\(error)")
        }
    }

    /// Runs the session's loop on its own threads, never on the cooperative pool.
    private func loop(_ session: FUSESession) async -> Int32 {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: session.run()) }
            thread.name = "fuse-loop"
            thread.start()
        }
    }

    private func statePath(_ domain: String) throws(DaemonError) -> String {
        if let path = configuration.stateDirectory { return path }
        return try StateDirectory.defaultPath(domain: domain)
    }
}

extension RequestTransport {
    init(_ transport: FUSESession.Transport) {
        switch transport {
        case .ring: self.init(name: .ring)
        case .device(let reason): self.init(name: .device, reason: reason)
        }
    }
}
