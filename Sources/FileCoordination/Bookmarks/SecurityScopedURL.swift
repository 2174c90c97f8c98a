import ControlAPI
public import Foundation
import Synchronization

/// An item of a domain with a right to it, which lasts from ``startAccessing()`` to ``stopAccessing()``.
///
/// The right is not in the URL: turned into text and back it is a path like any other. It comes from a bookmark with a
/// ``SecurityScope``, or from the document picker.
///
/// Source: Apple, `URL.startAccessingSecurityScopedResource()`.
public final class SecurityScopedURL: Sendable, CustomStringConvertible {
    /// Where the item is in the domain; of no use to a program that does not see the domain.
    public let url: URL
    /// What the right comes from. Keep this.
    public let bookmark: Bookmark
    /// Whether it may be changed.
    public let isWritable: Bool
    private let mountPoint: String

    private struct State {
        var count = 0
        var access: ScopedConnection?
        /// Starts whose access ended by itself: their stops end nothing.
        var lost = 0
    }
    private let state = Mutex(State())

    init(_ url: URL, bookmark: Bookmark, mountPoint: String, isWritable: Bool) {
        self.url = url
        self.bookmark = bookmark
        self.mountPoint = mountPoint
        self.isWritable = isWritable
    }

    deinit { state.withLock { $0.access }?.end() }

    /// The path, without the right.
    public var description: String { url.path(percentEncoded: false) }

    /// The item, and only it, is at the URL that this returns, until as many ``stopAccessing()`` have followed, this process
    /// ends, or the right does. Its folder can be bound into a sandbox: in it programs can save as they are used to, with
    /// temporary files that they rename over the document.
    ///
    /// - Returns: `$XDG_RUNTIME_DIR/hydrant/scoped/TOKEN/NAME`; the same one until the last ``stopAccessing()``.
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/notGranted`` when there is no right (any more), or it is
    ///   another program's.
    public func startAccessing() async throws -> URL {
        try await startAccessing(as: nil)
    }

    /// - Parameter program: what `hydrant` is going to run on behalf of its user.
    package func startAccessing(as program: String?) async throws -> URL {
        let connection = state.withLock { state in
            if let access = state.access, !access.hasEnded {
                state.count += 1
                return access
            }
            let access = ScopedConnection(
                mountPoint, AccessRequest(bookmark: bookmark.data, pid: getpid(), program: program))
            state.lost += state.count
            state.access = access
            state.count = 1
            return access
        }
        do { return try await connection.url() } catch {
            stopAccessing(connection)
            throw error
        }
    }

    /// Ends what one ``startAccessing()`` began. After the last one nothing of the item is there, whoever still has it open;
    /// what was written is in the daemon's catalog.
    public func stopAccessing() async {
        let last = state.withLock { state -> ScopedConnection? in
            if state.lost > 0 {
                state.lost -= 1
                return nil
            }
            guard state.count > 0 else { return nil }
            state.count -= 1
            if state.count > 0 { return nil }
            defer { state.access = nil }
            return state.access
        }
        await last?.endAndWait()
    }

    private func stopAccessing(_ connection: ScopedConnection) {
        state.withLock { state in
            guard state.access === connection else { return }
            state.count -= 1
            if state.count == 0 { state.access = nil }
        }
    }

    /// Returns when the right is over before ``stopAccessing()``: it was revoked, its time has come, or the daemon has ended.
    /// Nil: nobody took it away.
    public func accessEnded() async -> CoordinationError? {
        await state.withLock { $0.access }?.ended()
    }
}

/// The connection that a right lasts as long as.
final class ScopedConnection: Sendable {
    private struct State {
        var access: ScopedAccess?
        var failure: CoordinationError?
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    private let task: Mutex<Task<Void, Never>?> = Mutex(nil)
    private static let patience = Duration.seconds(2)

    init(_ mountPoint: String, _ request: AccessRequest) {
        let task = Task { [weak self] in
            var failure: CoordinationError?
            do {
                guard let client = FileCoordinator.client(of: mountPoint) else {
                    throw CoordinationError(.notRunning, "\(mountPoint): its daemon cannot be reached")
                }
                let answer = try await client.follow(.access(request)) { news in
                    if case .access(let access) = news { self?.began(access) }
                }
                if case .failure(let answer) = answer {
                    failure = CoordinationError(.init(answer: answer.code), answer.message)
                }
            } catch {
                if !Task.isCancelled { failure = HeldClaim.error(error, mountPoint) }
            }
            self?.finished(failure)
        }
        self.task.withLock { $0 = task }
    }

    deinit { end() }

    private func began(_ access: ScopedAccess) { wake { $0.access = access } }

    private func finished(_ failure: CoordinationError?) {
        wake { state in
            state.hasEnded = true
            state.failure = failure
        }
    }

    private func wake(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    private func wait(until isDone: @Sendable (borrowing State) -> Bool) async {
        while true {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if isDone(state) { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if goesOn { continuation.resume() }
            }
            if state.withLock({ isDone($0) }) { return }
        }
    }

    func url() async throws -> URL {
        await wait { $0.access != nil || $0.hasEnded }
        let (access, failure, hasEnded) = state.withLock { ($0.access, $0.failure, $0.hasEnded) }
        guard let access, !hasEnded else {
            throw failure ?? CoordinationError(.cancelled, "the access was ended")
        }
        let folder = URL(filePath: access.folder, directoryHint: .isDirectory)
        return folder.appending(path: access.name.string, directoryHint: .notDirectory)
    }

    func end() { task.withLock { $0 }?.cancel() }

    func endAndWait() async {
        let folder = state.withLock { $0.access?.folder }
        let wasTakenAway = folder.map { MountTable.mount(at: $0) == nil } ?? false
        let ending = Task {
            // The daemon is about to say why.
            if wasTakenAway { try? await Task.sleep(for: Self.patience) }
            end()
        }
        await wait { $0.hasEnded }
        ending.cancel()
        guard let folder else { return }
        // The daemon hears of it from the kernel, and needs a moment to take the folder away.
        for _ in 0..<500 {
            // (The table is asked, not the folder, whose daemon may hang.)
            if MountTable.mount(at: folder) == nil, access(folder, F_OK) != 0 { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    func ended() async -> CoordinationError? {
        await wait { $0.hasEnded }
        return state.withLock { $0.failure }
    }
}
