import ContentStore
package import FileProvider
import Foundation
package import ItemCatalog
import Logging
package import SyncEngine
package import Trees
package import Volume

/// A volume with catalog, content store and engine in this process, over any provider.
package final class InProcessStore: Sendable {
    package let volume: Volume
    package let kernel = FakeKernel()
    package let backing: FakeBacking
    package let catalog: Catalog
    package let directory: String
    package var files: VolumeFileSystem { VolumeFileSystem(volume: volume, backing: backing) }

    /// - Parameter directory: reused to simulate a restart; nil: a new one.
    package init(
        provider: any FileProviderExtension, directory: String, times: SyncTimes = .quick, passthrough: Bool = false
    ) throws {
        self.directory = directory
        backing = FakeBacking(isAllowed: passthrough)
        (volume, catalog) = try Self.build(
            provider: provider, directory: directory, times: times, kernel: kernel, backing: backing)
        volume.engine.start()
    }

    /// Builds and connects the parts below a mount.
    static func build(
        provider: any FileProviderExtension, directory: String, times: SyncTimes, kernel: any KernelNotifying,
        backing: any BackingRegistering
    ) throws -> (Volume, Catalog) {
        let catalog = try Catalog(
            path: directory + "/catalog.sqlite", domain: "memory:test", owner: (geteuid(), getegid()))
        var logger = Logger(label: "in process") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        let engine = SyncEngine(
            provider: provider, catalog: catalog, store: try ContentStore(directory: directory + "/content"),
            times: times,
            defaults: PlaceholderDefaults(uid: geteuid(), gid: getegid()), logger: logger)
        let volume = Volume(engine: engine, kernel: kernel, backing: backing)
        try volume.recover()
        return (volume, catalog)
    }

    /// Call it before the last reference goes, which closes the catalog: running steps would use a closed one.
    package func stop() async { await volume.engine.stop() }

    /// As `hydrant sync`; returns the pending items.
    package func sync(limit: Double = 60) throws -> [ItemRecord] {
        try blocking { [volume] in try await volume.engine.sync(timeout: limit) }
    }
}

extension SyncTimes {
    /// Short times, for tests.
    package static var quick: SyncTimes {
        var times = SyncTimes()
        times.settle = 0.05
        times.firstLook = 0.02
        times.settleAfterSync = 0.1
        times.firstRetry = 0.05
        times.longestRetry = 0.2
        return times
    }
}

/// Runs async code from a scenario's thread (never from the cooperative pool) and waits for it.
package func blocking<T: Sendable>(
    on executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async throws -> T
) throws -> T {
    let done = DispatchSemaphore(value: 0)
    let box = ResultBox<T>()
    Task(executorPreference: executor) {
        do { box.result = .success(try await body()) } catch { box.result = .failure(error) }
        done.signal()
    }
    done.wait()
    return try box.result!.get()
}

/// Written before the semaphore is signalled, read after the wait.
private final class ResultBox<T: Sendable>: @unchecked Sendable {
    var result: Result<T, any Error>?
}
