package import FileProvider
import Logging

extension SyncEngine {
    /// Asks the store's own search, where it has one and answers.
    ///
    /// - Parameter seconds: longer it is not waited for.
    /// - Returns: what may be shown of it; nil: it was not asked, or has not answered.
    package func search(_ search: StoreSearch, within seconds: Double) async -> StoreFindings? {
        guard let provider = context.provider as? any SearchingProvider, provider.canSearch,
            context.connection.failure == nil
        else { return nil }
        let logger = context.logger
        // (Tasks of their own: a provider that does not heed its cancellation is not waited for.)
        let (answers, first) = AsyncStream<StoreFindings?>.makeStream()
        let asking = Task(executorPreference: context.workers) {
            do { first.yield(try await provider.search(search)) } catch {
                logger.debug("the store's own search failed", metadata: ["error": "\(error)"])
                first.yield(nil)
            }
        }
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            first.yield(nil)
        }
        defer {
            asking.cancel()
            timer.cancel()
        }
        var iterator = answers.makeAsyncIterator()
        guard var answer = await iterator.next() ?? nil else { return nil }
        // A provider is not trusted.
        let findings = answer.findings.prefix(search.limit).filter { $0.isPossible }
        answer.isComplete = answer.isComplete && answer.findings.count <= search.limit
        answer.findings = findings
        return answer
    }
}

extension StoreFinding {
    private static let deepest = 1_024

    fileprivate var isPossible: Bool {
        size >= 0 && !path.isEmpty && path.count <= Self.deepest && path.allSatisfy { $0.problem == nil }
    }
}
