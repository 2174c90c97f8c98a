import ControlAPI
public import Foundation
import Synchronization

/// An item of a domain with a right to it, which is used from ``startAccessing()`` to ``stopAccessing()``.
///
/// The right is not in the URL: converted to text and back, the URL is a path without a right. The right comes from a
/// bookmark with a ``SecurityScope``, or from the document picker.
///
/// Source: Apple, `URL.startAccessingSecurityScopedResource()`.
public final class SecurityScopedURL: Sendable, CustomStringConvertible {
    /// The item's place in the domain; of no use to a program that does not see the domain.
    public let url: URL
    /// The bookmark with the right. Keep it.
    public let bookmark: Bookmark
    /// Whether the item may be changed.
    public let isWritable: Bool
    private let mountPoint: String

    private struct State {
        var count = 0
        var access: ScopedConnection?
        /// The number of starts whose access ended by itself; their stops end nothing.
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

    /// Makes the item, and only the item, accessible at the returned URL, until as many calls of ``stopAccessing()``
    /// have followed, or this process or the right ends. A sandbox can bind the URL's folder; programs can save in it
    /// as usual, with temporary files that they rename over the document.
    ///
    /// - Returns: `$XDG_RUNTIME_DIR/hydrant/scoped/TOKEN/NAME`; the same URL until the last ``stopAccessing()``.
    /// - Throws: ``CoordinationError``; ``CoordinationError/Code/notGranted`` when there is no right, it has ended, or
    ///   it is
    ///   another program's.
    public func startAccessing() async throws -> URL {
        try await startAccessing(as: nil)
    }

    /// - Parameter program: the program that `hydrant` is going to run for its user.
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

    /// Ends the access of one ``startAccessing()``. The last call removes the item from its folder, even if programs
    /// have it open; what was written is in the daemon's catalog.
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

    /// Returns when the access ends before ``stopAccessing()``: the right was revoked or has expired, or the daemon has
    /// ended. Nil: the access ended by ``stopAccessing()``.
    public func accessEnded() async -> CoordinationError? {
        await state.withLock { $0.access }?.ended()
    }
}

/// The connection of an access, which ends with it.
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
            // Wait for the daemon's reason.
            if wasTakenAway { try? await Task.sleep(for: Self.patience) }
            end()
        }
        await wait { $0.hasEnded }
        ending.cancel()
        guard let folder else { return }
        // The daemon learns from the kernel that the connection is closed, and then removes the folder.
        for _ in 0..<500 {
            // Read the table of mounts, not the folder, whose daemon may hang.
            if MountTable.mount(at: folder) == nil, access(folder, F_OK) != 0 { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    func ended() async -> CoordinationError? {
        await wait { $0.hasEnded }
        return state.withLock { $0.failure }
    }
}
