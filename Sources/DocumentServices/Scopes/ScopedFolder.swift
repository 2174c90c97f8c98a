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

/// A folder in which one item of the domain is all that there is, for as long as somebody has a right to it.
final class ScopedFolder: Sendable {
    /// Why a right is over.
    enum Ending { case revoked, expired, cancelled }

    let token: String
    let grant: UUID
    /// The process that uses it.
    let user: Int32
    private let scope: Scope
    private let session: FUSESession
    private let path: String
    private let revocations: AsyncStream<Void>
    private let revocation: AsyncStream<Void>.Continuation
    private let loop: Task<Void, Never>
    private let end: Mutex<Task<Void, Never>?> = Mutex(nil)

    /// How long programs are waited for that have changed pages in memory.
    private static let patience = Duration.seconds(2)

    /// Mounts it. Blocks: only on a thread that may.
    ///
    /// - Parameter source: what the mount is of, for those who look at the table of mounts.
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

    /// Where in the domain what has this name here is, or would be.
    func path(of name: Filename) throws -> [Filename] { try scope.path(of: name) }

    var access: ScopedAccess {
        ScopedAccess(token: token, folder: path, name: PathBytes(bytes: scope.name.bytes), isWritable: scope.isWritable)
    }

    func revoke() { revocation.yield() }

    /// Waits until the right is over.
    ///
    /// - Parameter until: seconds since 1970.
    func ended(by until: Double?) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            group.addTask { [revocations] in
                for await _ in revocations { return .revoked }
                return .cancelled
            }
            if let until {
                group.addTask {
                    // By the clock on the wall, which may be set, and goes on while the machine sleeps.
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

    /// Unmounts it and tidies up, once; returns when that is done.
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

    /// What a program that goes on has changed in memory only; the session is served meanwhile.
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
