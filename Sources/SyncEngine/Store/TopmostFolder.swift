import FileProvider
import Locking
import Waiting

/// Whether the store has the mounted folder.
///
/// A store without it (a share that was taken back, a server's folder that is on a disk which is not there) answers for
/// every item that the item is gone. So such an answer counts only if the mounted folder is there; else the store is
/// away, and nothing is deleted or made again because of it. (An empty folder in its place is there.)
final class TopmostFolder: Sendable {
    private typealias Question = Task<FileProviderError?, Never>
    private let provider: any FileProviderExtension
    private struct Questions {
        var running: Question?
        /// Begins after the running one.
        var next: Question?
    }
    /// Many answers come at the same time when many items are deleted: they share a question. It must begin after the
    /// answers came.
    private let questions = AdaptiveMutex(Questions())

    private let workers: Workers

    init(_ provider: any FileProviderExtension, workers: Workers) {
        self.provider = provider
        self.workers = workers
    }

    /// The mounted folder.
    ///
    /// - Throws: ``FileProviderError/Code/serverUnreachable`` also when the store has no such folder.
    func item() async throws(FileProviderError) -> Item {
        do { return try await provider.providePlaceholder(for: .rootContainer) } catch {
            guard error.code == .noSuchItem else { throw error }
            throw FileProviderError(
                .serverUnreachable, "the store does not have the mounted folder now: \(error.message)", cause: error)
        }
    }

    /// The error of a call, or, if it says that an item is gone and the mounted folder is away, the reason.
    func verified(_ error: FileProviderError) async -> FileProviderError {
        guard error.code == .noSuchItem else { return error }
        let question = ask()
        let answer = FirstAnswer<FileProviderError?>()
        Task(executorPreference: workers) { answer.resume(await question.value) }
        let cancelled = FileProviderError(
            .cancelled, "nobody waits any more to know whether the item is gone", cause: error)
        guard let reason = await answer.wait(otherwise: cancelled) else { return error }
        // Any other refusal is an answer about the folder, which is there then.
        let isUnknown =
            StoreConnection.isAway(reason.code) || [.busy, .cannotSynchronize, .cancelled].contains(reason.code)
        return isUnknown ? reason : error
    }

    private func ask() -> Question {
        questions.withLock { state in
            if let next = state.next { return next }
            let before = state.running
            let question = Question(executorPreference: workers) { [self] in
                if let before {
                    _ = await before.value
                    questions.withLock { $0 = Questions(running: $0.next) }
                }
                do throws(FileProviderError) { _ = try await item() } catch { return error }
                return nil
            }
            if before == nil { state.running = question } else { state.next = question }
            return question
        }
    }
}
