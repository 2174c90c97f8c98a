import ControlAPI
import Foundation
import ItemCatalog
import Logging
import MountFrontend
import SyncEngine
import Synchronization
import Trees
package import Volume

/// The scoped folders of a domain.
package final class ScopedFolders: Sendable {
    private struct State {
        var folders: [String: ScopedFolder] = [:]
        var hasEnded = false
        /// The number of folders being mounted.
        var beginning = 0
    }

    private let volume: Volume
    private let kernel: any KernelNotifying
    private let mountPoint: String
    private let state = Mutex(State())

    /// The catalog's note that scoped folders may have left files.
    private static let note = "scoped"

    package init(volume: Volume, kernel: any KernelNotifying, mountPoint: String) {
        self.volume = volume
        self.kernel = kernel
        self.mountPoint = mountPoint
    }

    static func parent() throws -> String { try SocketDirectory.path() + "/scoped" }

    /// Removes what a killed daemon of this domain left. Call this before the first scoped folder; blocks.
    package func sweep() {
        for problem in Self.unmountOld(of: mountPoint) {
            volume.engine.mount.logger.warning(
                "an old scoped folder cannot be removed", metadata: ["reason": "\(problem)"])
        }
        let catalog = volume.engine.mount.catalog
        guard (try? catalog.read { try $0.note(Self.note) }) == "1" else { return }
        if ScopeRemains(volume: volume, kernel: kernel).removeAll() {
            try? catalog.write { try $0.takeNote(Self.note, "0") }
        }
    }

    /// Unmounts only folders directly in our own folder: any user can choose the type and source of a mount.
    ///
    /// - Returns: the reasons for folders that remain.
    package static func unmountOld(of mountPoint: String) -> [String] {
        guard let path = try? parent() else { return [] }
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return [] }
        defer { close(folder) }
        var status = stat()
        guard fstat(folder, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o022 == 0,
            let place = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(folder)")
        else { return [] }
        var problems: [String] = []
        for entry in MountTable.entries()
        where entry.fileSystem == MountTable.scopedType && entry.source == mountPoint && entry.owner == geteuid() {
            let name = (entry.mountPoint as NSString).lastPathComponent
            guard entry.mountPoint == place + "/" + name else { continue }
            if let why = Unmounter.unmount(entry.mountPoint, lazily: true) { problems.append(why) }
            unlinkat(folder, name, 0x200)  // AT_REMOVEDIR
        }
        return problems
    }

    func begin(_ inode: InodeID, grant: UUID, user: Int32, isWritable: Bool) async throws -> ScopedFolder {
        let isOpen = state.withLock { state in
            if !state.hasEnded { state.beginning += 1 }
            return !state.hasEnded
        }
        guard isOpen else { throw refused("is being unmounted") }
        defer { state.withLock { $0.beginning -= 1 } }
        let folder = try await Task(executorPreference: volume.engine.mount.workers) { [self] in
            let parent = try Self.parent()
            if mkdir(parent, 0o700) != 0 && errno != EEXIST {
                throw refused("\(parent): cannot be made: \(String(cString: strerror(errno)))")
            }
            if isWritable {
                // Note this before any file can be left.
                try volume.engine.mount.catalog.write { try $0.takeNote(Self.note, "1") }
            }
            return try ScopedFolder(
                inode, of: volume, kernel: kernel, in: parent, source: mountPoint, grant: grant, user: user,
                isWritable: isWritable)
        }.value
        state.withLock { $0.folders[folder.token] = folder }
        return folder
    }

    private func refused(_ why: String) -> ControlFailure {
        ControlFailure(code: "refused", message: "\(mountPoint): \(why)")
    }

    func end(_ folder: ScopedFolder) async {
        await folder.close()
        state.withLock { _ = $0.folders.removeValue(forKey: folder.token) }
    }

    /// Returns when nobody can use the folders any more.
    func end(grant: UUID) async {
        let folders = state.withLock { $0.folders.values.filter { $0.grant == grant } }
        for folder in folders { folder.revoke() }
        await end(folders)
    }

    package func endAll() async {
        state.withLock { $0.hasEnded = true }
        while state.withLock({ $0.beginning > 0 }) { try? await Task.sleep(for: .milliseconds(20)) }
        await end(state.withLock { Array($0.folders.values) })
    }

    private func end(_ folders: [ScopedFolder]) async {
        await withTaskGroup(of: Void.self) { group in
            for folder in folders { group.addTask { await self.end(folder) } }
        }
    }

    func users(of grant: UUID) -> [Int32] {
        state.withLock { $0.folders.values.filter { $0.grant == grant }.map(\.user).sorted() }
    }

    func folder(_ token: String) -> ScopedFolder? { state.withLock { $0.folders[token] } }
}
