import ControlAPI
import Synchronization

/// A query's connection to one domain's daemon.
struct DomainQuery: Sendable {
    let mountPoint: String
    let request: QueryRequest
    /// Seconds to wait for the answer to a confirmation.
    private static let patience = 60.0
    /// Seconds without a message after which a gathering daemon counts as hung (``QueryNews/pulse``).
    private static let silence = 10

    private enum Ending: Sendable {
        case answered(MetadataQueryError?)
        case silent
        case gathered
    }

    /// - Returns: why the query broke off; nil: it is complete, or was cancelled.
    func run(_ onNews: @escaping @Sendable (QueryNews) -> Void) async -> MetadataQueryError? {
        let heard = Heard()
        return await withTaskGroup(of: Ending.self) { group in
            group.addTask {
                .answered(
                    await follow { news in
                        heard.note(isLast: news.phase != .gathering)
                        onNews(news)
                    })
            }
            group.addTask { await Self.listen(heard) }
            defer { group.cancelAll() }
            for await ending in group {
                switch ending {
                case .answered(let error): return error
                case .silent:
                    return MetadataQueryError(
                        "\(mountPoint): its daemon has said nothing for \(Self.silence) s; see hydrant status \(mountPoint)"
                    )
                case .gathered: break
                }
            }
            return nil
        }
    }

    /// Records the daemon's messages.
    private final class Heard: Sendable {
        private let state = Mutex((isAnything: false, isAll: false))

        func note(isLast: Bool) {
            state.withLock { state in
                state.isAnything = true
                state.isAll = state.isAll || isLast
            }
        }

        /// What has arrived since the last call.
        func take() -> (isAnything: Bool, isAll: Bool) {
            state.withLock { state in
                defer { state.isAnything = false }
                return state
            }
        }
    }

    private static func listen(_ heard: Heard) async -> Ending {
        // Count seconds instead of measuring, because this process or the machine may have been stopped meanwhile.
        var quiet = 0
        while quiet < silence {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { return .gathered }
            let (isAnything, isAll) = heard.take()
            if isAll { return .gathered }
            quiet = isAnything ? 0 : quiet + 1
        }
        return .silent
    }

    private func follow(_ onNews: @escaping @Sendable (QueryNews) -> Void) async -> MetadataQueryError? {
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
            let answer = try await client.follow(.query(request)) { news in
                guard case .query(let news) = news else { return }
                onNews(news)
                if let question = news.question {
                    // If the confirmation is lost, the daemon waits for it only briefly.
                    _ = try? await client.send(.queryTaken(id: request.id, question: question), timeout: Self.patience)
                }
            }
            guard case .failure(let failure) = answer else { return nil }
            return MetadataQueryError(failure.message)
        } catch let error as ControlError {
            return error.code == .cancelled ? nil : MetadataQueryError("\(mountPoint): \(error.message)")
        } catch {
            return MetadataQueryError("\(mountPoint): \(error)")
        }
    }
}
