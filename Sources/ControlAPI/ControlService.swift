/// Answers the requests that arrive on the socket; the daemon implements it.
public protocol ControlService: Sendable {
    /// Called once for each request; requests of different connections run concurrently, those of one
    /// connection one after another. The task is cancelled when the client hangs up or the server stops.
    func respond(to request: ControlRequest) async -> ControlResponse

    /// As ``respond(to:)``, with a listener for news before the answer. The server calls this one.
    func respond(to request: ControlRequest, sendingNewsTo listener: ControlListener) async -> ControlResponse
}

extension ControlService {
    /// Sends no news.
    public func respond(to request: ControlRequest, sendingNewsTo listener: ControlListener) async -> ControlResponse {
        await respond(to: request)
    }
}

/// The client that waits for an answer, and takes news meanwhile.
public struct ControlListener: Sendable {
    /// The client's process (SO_PEERCRED).
    public var peer: Int32 { process.pid }
    package let process: PeerProcess
    private let write: @Sendable (ControlResponse) async throws -> Void

    init(peer: PeerProcess, _ write: @escaping @Sendable (ControlResponse) async throws -> Void) {
        process = peer
        self.write = write
    }

    /// Sends news; returns when the client's socket has taken it. A slow client makes the caller wait, and costs the
    /// memory of one message, so send the present state, not a backlog.
    ///
    /// - Throws: when the client has hung up, or the task is cancelled.
    public func send(_ news: ControlNews) async throws {
        try Task.checkCancellation()
        try await write(.news(news))
    }
}
