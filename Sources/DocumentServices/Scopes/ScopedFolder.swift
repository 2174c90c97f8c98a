import CLinux
import ControlAPI
import FUSE
import FileProvider
import Foundation
import MountFrontend
import SyncEngine
import Synchronization
import Trees
import Volume
import Waiting

/// A folder that shows one item of the domain, while a grant for the item is valid.
final class ScopedFolder: Sendable {
    /// The reason why access has ended.
    enum Ending { case revoked, expired, cancelled }

    let token: String
    let grant: UUID
    /// The process that uses the folder.
    let user: Int32
    private let scope: Scope
    private let session: FUSESession
    private let path: String
    private let revocations: AsyncStream<Void>
    private let revocation: AsyncStream<Void>.Continuation
    private let loop: Task<Void, Never>
    private let end: Mutex<Task<Void, Never>?> = Mutex(nil)

    /// The time to wait for programs with modified pages in memory.
    private static let patience = Duration.seconds(2)

    /// Mounts the folder. Blocks: call this only on a thread that may.
    ///
    /// - Parameter source: the source in the table of mounts.
    init(
        _ inode: InodeID, of volume: Volume, kernel: any KernelNotifying, in parent: String, source: String,
        grant: UUID, user: Int32, isWritable: Bool
    ) throws {
        token = UUID().uuidString.replacing("-", with: "").lowercased()
        self.grant = grant
        self.user = user
        path = parent + "/" + token
        scope = try Scope(volume: volume, kernel: kernel, inode: inode, token: token, isWritable: isWritable)
        (revocations, revocation) = AsyncStream<Void>.makeStream()
        var options = FUSESession.Options(maxThreads: 4, passthrough: false)
        options.mapsDirectIO = true
        options.mountOptions =
            ["default_permissions", "subtype=hydrant-scoped", "fsname=\(source)"] + (isWritable ? [] : ["ro"])
        guard mkdir(path, 0o700) == 0 else {
            throw ControlFailure(
                code: "refused", message: "\(source): \(path): cannot be made: \(String(cString: strerror(errno)))")
        }
        do {
            let frontend = MountFrontend(showing: try ScopedView(scope: scope), workers: scope.workers)
            session = try FUSESession(mountPoint: path, options: options, fileSystem: frontend)
            try session.mount()
        } catch {
            rmdir(path)
            throw error
        }
        let (session, token) = (session, token)
        loop = Task {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    _ = session.run()
                    continuation.resume()
                }
                thread.name = "scope-\(token.prefix(8))"
                thread.start()
            }
        }
    }

    /// The path in the domain for a name in this folder; nothing may exist there yet.
    func path(of name: Filename) throws -> [Filename] { try scope.path(of: name) }

    var access: ScopedAccess {
        ScopedAccess(token: token, folder: path, name: PathBytes(bytes: scope.name.bytes), isWritable: scope.isWritable)
    }

    func revoke() { revocation.yield() }

    /// Waits until access ends.
    ///
    /// - Parameter until: the end of the grant, in seconds since 1970.
    func ended(by until: Double?) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            group.addTask { [revocations] in
                for await _ in revocations { return .revoked }
                return .cancelled
            }
            if let until {
                group.addTask {
                    // Use the wall clock, which can be set and goes on while the machine sleeps.
                    while true {
                        let left = until - Date().timeIntervalSince1970
                        if left <= 0 { return .expired }
                        do { try await Task.sleep(for: .seconds(min(left, 30))) } catch { return .cancelled }
                    }
                }
            }
            defer { group.cancelAll() }
            return await group.next() ?? .cancelled
        }
    }

    /// Unmounts the folder and cleans up, once; returns when that is done.
    func close() async {
        let task = end.withLock { end in
            let task = end ?? Task { await self.takeDown() }
            end = task
            return task
        }
        await task.value
    }

    private func takeDown() async {
        await writeBack()
        session.exit()
        await loop.value
        await Task(executorPreference: scope.workers) { [scope, path] in
            scope.end()
            rmdir(path)
        }.value
    }

    /// Writes back the modified pages of running programs; the session still answers requests meanwhile.
    private func writeBack() async {
        let done = FirstAnswer<Void>()
        Thread { [path] in
            let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if folder >= 0 {
                _ = clinux_sync_file_system(folder)
                Glibc.close(folder)
            }
            done.resume(())
        }.start()
        await done.wait(within: Self.patience, otherwise: ())
    }
}
