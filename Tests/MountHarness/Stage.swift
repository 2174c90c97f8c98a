import ControlAPI
import FileProvider
package import FileProviderTesting
import Foundation
import SyncEngine
import Trees
import Volume

/// The environment of a scenario.
package enum Stage: String, Sendable, CaseIterable, CustomStringConvertible {
    case inProcess = "in process"
    case inProcessPassthrough = "in process, passthrough"
    case mount = "at a mount"
    case mountCached = "at a mount, without passthrough"
    package var description: String { rawValue }

    package var isMount: Bool { self == .mount || self == .mountCached }
    package var hasPassthrough: Bool { self == .inProcessPassthrough || self == .mount }
}

/// The file system of a scenario, and the store behind it.
package protocol Scene: Sendable {
    associatedtype Files: FileSystemUnderTest
    var files: Files { get }
    /// The store's other client.
    func storeWrites(_ path: String, _ bytes: [UInt8]) throws
    func storeRemoves(_ path: String) throws
    func storeRenames(_ path: String, to newPath: String) throws
    /// All documents, folders (nil) and links of the store, without the store's own files.
    func storeContents() throws -> [String: StoredEntry]
    /// Waits until no change is pending.
    func sync() throws
    func evict(_ path: FSPath) throws
    /// For a document: the number of bytes here, and whether it has changes that are not in the store.
    func local(_ path: FSPath) throws -> (bytes: Int64, isModified: Bool, identifier: String?)
    /// The number of calls of a hook for items of this name.
    func calls(of hook: Hook) throws -> Int
}

extension Scene {
    package func storeWrites(_ path: String, _ text: String) throws { try storeWrites(path, Array(text.utf8)) }
}

/// Runs a scenario in an environment.
///
/// - Parameters:
///   - settle: seconds from the last writable close to the upload.
package func withScene(
    _ stage: Stage, settle: Double = 0.1, limit: Double = 40,
    seed: @escaping @Sendable (any Scene) throws -> Void = { _ in },
    _ body: @escaping @Sendable (any Scene) throws -> Void
) async throws {
    if stage.isMount {
        let options = MountOptions.with {
            $0.passthrough = stage.hasPassthrough
            $0.settle = settle
            $0.settleAfterSync = settle
            $0.limit = limit
        }
        try await withSandbox(options) { mount in
            let scene = MountScene(mount)
            try seed(scene)
            try mount.mount()
            try body(scene)
        }
    } else {
        await MountSlots.shared.take(1)
        defer { MountSlots.shared.give(1) }
        try await onThread {
            let sandbox = try Sandbox()
            defer { do { try sandbox.remove() } catch { print("harness: \(error)") } }
            var times = SyncTimes.quick
            times.settle = settle
            times.settleAfterSync = settle
            let provider = InMemoryProvider(pageSize: 50)
            let store = try InProcessStore(
                provider: provider, directory: sandbox.scratch, times: times, passthrough: stage.hasPassthrough)
            let scene = VolumeScene(store: store, provider: provider)
            let result = Result {
                try seed(scene)
                try body(scene)
            }
            try blocking { await store.stop() }
            try result.get()
        }
    }
}

struct MountScene: Scene {
    let mount: MountedStore
    init(_ mount: MountedStore) { self.mount = mount }

    var files: RealFileSystem { RealFileSystem(root: mount.mountPoint) }
    private var store: RealFileSystem { RealFileSystem(root: mount.store) }

    func storeWrites(_ path: String, _ bytes: [UInt8]) throws { try Seeding(mount.store).file(path, bytes) }
    func storeRemoves(_ path: String) throws { try FileManager.default.removeItem(atPath: mount.store + "/" + path) }
    func storeRenames(_ path: String, to newPath: String) throws { try store.rename(FSPath(path), to: FSPath(newPath)) }

    func storeContents() throws -> [String: StoredEntry] {
        var found: [String: StoredEntry] = [:]
        var waiting = [FSPath.root]
        while let folder = waiting.popLast() {
            for name in try store.list(folder) {
                let path = folder.appending(name)
                switch try store.stat(path).kind {
                case .document: found[path.description] = .document(try store.readAll(path))
                case .special: break
                case .link: found[path.description] = .link(target: try store.readlink(path))
                case .folder:
                    found[path.description] = .folder
                    waiting.append(path)
                }
            }
        }
        return found
    }

    func sync() throws { try mount.sync() }
    func evict(_ path: FSPath) throws {
        let result = try mount.hydrant(["evict", mount.mountPoint + "/" + path.description])
        guard result.succeeded else { throw HarnessError("evict: \(result)") }
    }
    func local(_ path: FSPath) throws -> (bytes: Int64, isModified: Bool, identifier: String?) {
        let status = try mount.status(path.description)
        return (status.bytesDownloaded, status.modified, status.identifier)
    }
    func calls(of hook: Hook) throws -> Int { mount.hookCalls().filter { $0.hook == hook }.count }
}

struct VolumeScene: Scene {
    let store: InProcessStore
    let provider: InMemoryProvider

    var files: VolumeFileSystem { store.files }
    func storeWrites(_ path: String, _ bytes: [UInt8]) throws { try provider.put(path, bytes) }
    func storeRemoves(_ path: String) throws { try provider.remove(path) }
    func storeRenames(_ path: String, to newPath: String) throws { try provider.rename(path, to: newPath) }
    func storeContents() throws -> [String: StoredEntry] { provider.snapshot() }

    func sync() throws {
        let left = try store.sync()
        guard left.isEmpty else { throw HarnessError("still pending: \(left)") }
    }

    private func resolve(_ path: FSPath) throws -> InodeRecord {
        let names = path.names.map { Filename(bytes: $0) }
        return try blocking { [volume = store.volume] in try await volume.resolve(names) }
    }

    func evict(_ path: FSPath) throws { _ = try store.volume.engine.evict(resolve(path).id) }

    func local(_ path: FSPath) throws -> (bytes: Int64, isModified: Bool, identifier: String?) {
        let (record, item) = try store.volume.inspect(resolve(path).id)
        return (record.bytesPresent, item?.isModified ?? true, item?.identifier?.rawValue)
    }

    func calls(of hook: Hook) throws -> Int { provider.calls(of: hook).count }
}
