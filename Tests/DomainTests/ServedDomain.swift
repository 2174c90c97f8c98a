import ContentStore
import DocumentServices
import FUSE
import FileProvider
import Foundation
import ItemCatalog
import Logging
import MountFrontend
import MountHarness
import SyncEngine
import Trees
import Volume

@testable import ControlAPI
@testable import Daemon

/// A provider in this process, served at a real mount with a control socket. What looks at the mount are children: this
/// process would wait for itself.
final class ServedDomain: Sendable {
    let sandbox: Sandbox
    let catalog: Catalog
    let volume: Volume
    let domain: MountedDomain
    private let identifiers: IdentifierBook
    private let session: FUSESession
    private let server: ControlServer
    private let queries: QueryService
    let thumbnails: ThumbnailService
    private let hasEnded = DispatchSemaphore(value: 0)

    var engine: SyncEngine { volume.engine }

    /// Mounts in the sandbox; a second one after the first has ended finds what that left.
    init(
        _ provider: any FileProviderExtension, _ sandbox: Sandbox, passthrough: Bool = true, settle: Double? = nil
    ) throws {
        self.sandbox = sandbox
        try FileManager.default.createDirectory(atPath: sandbox.state, withIntermediateDirectories: true)
        catalog = try Catalog(
            path: sandbox.state + "/catalog.sqlite", domain: "test:", owner: (geteuid(), getegid()))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var times = SyncTimes.quick
        times.quotaAfterChange = 0.05
        if let settle { times.settle = settle }
        let engine = SyncEngine(
            provider: provider, catalog: catalog, store: try ContentStore(directory: sandbox.state + "/content"),
            times: times, defaults: PlaceholderDefaults(uid: geteuid(), gid: getegid()), logger: logger)
        let link = SessionLink()
        let volume = Volume(engine: engine, kernel: link, backing: link)
        self.volume = volume
        try volume.recover()
        identifiers = try IdentifierBook(keptAt: sandbox.state + "/" + KeptFiles.identifiers)
        let domain = MountedDomain(volume: volume, mountPoint: sandbox.mountPoint, identifiers: identifiers)
        self.domain = domain
        try blocking { try await provider.beginServing(domain) }

        var options = FUSESession.Options()
        options.mountOptions = ["default_permissions", "subtype=hydrant", "fsname=test:"]
        options.passthrough = passthrough
        let session = try FUSESession(
            mountPoint: sandbox.mountPoint, options: options,
            fileSystem: MountFrontend(showing: volume, workers: engine.mount.workers))
        try session.mount()
        link.attach(session)
        self.session = session
        let folder = try SocketDirectory.path(
            runtimeDirectory: sandbox.runtime, systemDirectory: "", fallbackParent: "/tmp")
        let scopes = ScopedFolders(volume: volume, kernel: link, mountPoint: sandbox.mountPoint)
        let queries = QueryService(volume: volume, stateDirectory: sandbox.state, domain: "test:", patience: 60)
        self.queries = queries
        let thumbnails = ThumbnailService(
            volume: volume, mountPoint: sandbox.mountPoint, stateDirectory: sandbox.state,
            cache: ThumbnailCache(folder: sandbox.path + "/home/.cache/thumbnails"), isConfigured: true)
        self.thumbnails = thumbnails
        let service = DomainService(
            volume: volume, domain: "test", provider: "test:", mountPoint: sandbox.mountPoint,
            stateDirectory: sandbox.state,
            hasPassthrough: { session.passthroughAvailable }, transport: { RequestTransport(session.transport) },
            coordination: CoordinationService(
                volume: volume, mountPoint: sandbox.mountPoint, stateDirectory: sandbox.state, patience: 60),
            bookmarks: try BookmarkService(
                volume: volume, domain: domain, name: "test", mountPoint: sandbox.mountPoint,
                stateDirectory: sandbox.state,
                scopes: scopes),
            signOut: SignOutService(volume: volume, scopes: scopes, logger: logger) { _ in }, queries: queries,
            policy: PolicyService(engine, configured: [], mountPoint: sandbox.mountPoint),
            thumbnails: thumbnails, picking: PickerService(volume: volume, mountPoint: sandbox.mountPoint),
            title: "test")
        let server = ControlServer(
            socketPath: folder + "/" + SocketDirectory.socketName(mountPoint: sandbox.mountPoint), service: service,
            logger: logger)
        self.server = server
        try blocking { try await server.start() }
        let thread = Thread { [hasEnded] in
            _ = session.run()
            hasEnded.signal()
        }
        thread.start()
        volume.engine.start()
        thumbnails.begin()
    }

    func end() {
        session.exit()
        hasEnded.wait()
        try? blocking { [volume, catalog, server, identifiers, queries, thumbnails] in
            await server.stop()
            await queries.close()
            await thumbnails.close()
            if await volume.engine.stop() {
                try identifiers.refresh(from: catalog)
                catalog.close()
            }
        }
    }

    /// What the next one in the sandbox finds is a catalog that knows nothing.
    static func loseCatalog(_ sandbox: Sandbox) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: sandbox.state)
        where name.hasPrefix("catalog") || name == "content" {
            try FileManager.default.removeItem(atPath: sandbox.state + "/" + name)
        }
    }

    // MARK: Programs

    /// Runs a script in the mount; returns what it printed, without the last newline.
    @discardableResult
    func run(_ script: String) throws -> String {
        let result = try sandbox.run(["bash", "-c", "set -e; cd \"$MOUNT\"\n" + script], limit: 20)
        guard result.succeeded else { throw HarnessError("“\(script)”: \(result)") }
        return result.stdout.trimmingCharacters(in: .newlines)
    }

    func hydrant(_ arguments: String..., environment: [String: String] = [:]) throws -> ChildResult {
        try sandbox.run([Sandbox.executable] + arguments, environment: environment, limit: 20)
    }

    func sync() throws {
        let left = try blocking { [engine] in try await engine.sync(timeout: 60) }
        guard left.isEmpty else { throw HarnessError("still pending: \(left)") }
    }

    // MARK: The domain, from a thread

    func url(_ path: String) -> URL {
        domain.url(relativePath: path.split(separator: "/").map { Filename(String($0)) })
    }

    func catalogIdentifier(_ path: String) throws -> ItemIdentifier {
        let url = url(path)
        return try blocking { [domain] in try await domain.catalogIdentifierForItem(at: url) }
    }

    func path(_ identifier: ItemIdentifier) throws -> String {
        let url = try blocking { [domain] in try await domain.urlForItem(withCatalogIdentifier: identifier) }
        return try domain.relativePath(of: url).map(\.string).joined(separator: "/")
    }

    func write(_ item: Item, at path: String, thumbnail: Thumbnail? = nil) throws {
        let url = url(path)
        try blocking { [domain] in
            try await domain.writePlaceholder(at: url, withMetadata: item, thumbnail: thumbnail)
        }
    }
}

/// Runs a scenario on a thread of its own, with a sandbox for it, and leaves nothing behind.
func withServing(_ body: @escaping @Sendable (Sandbox) throws -> Void) async throws {
    try await withSandbox { try body($0.sandbox) }
}

/// The same with a provider that is mounted.
func withServed(
    _ provider: any FileProviderExtension, passthrough: Bool = true, settle: Double? = nil,
    _ body: @escaping @Sendable (ServedDomain) throws -> Void
) async throws {
    try await withServing { sandbox in
        let served = try ServedDomain(provider, sandbox, passthrough: passthrough, settle: settle)
        defer { served.end() }
        try body(served)
    }
}

/// The code that a call to the domain is refused with; nil when it is not.
func refusal(_ body: () throws -> Void) -> FileProviderError.Code? {
    do { try body() } catch { return (error as? FileProviderError)?.code }
    return nil
}
