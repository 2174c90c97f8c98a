import ControlAPI

/// A query's conversation with one domain's daemon.
struct DomainQuery: Sendable {
    let mountPoint: String
    let request: QueryRequest
    /// In seconds: longer nobody waits for an answer of this.
    private static let patience = 60.0

    /// - Returns: why it ended before its end; nil: that was all, or it was cancelled.
    func run(_ told: @escaping @Sendable (QueryNews) -> Void) async -> MetadataQueryError? {
        do {
            let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
            let answer = try await client.follow(.query(request)) { news in
                guard case .query(let news) = news else { return }
                told(news)
                if let question = news.question {
                    // (If it does not arrive, nobody waits for it for long.)
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
