/// Who answers the requests that come in over the socket: the daemon.
public protocol ControlService: Sendable {
    /// Called once a request; requests of different connections run concurrently, those of one
    /// connection one after another. The task is cancelled when the client hangs up or the server stops.
    func respond(to request: ControlRequest) async -> ControlResponse

    /// As ``respond(to:)``, with the means to say something before the answer. This is the one that is called.
    func respond(to request: ControlRequest, telling listener: ControlListener) async -> ControlResponse
}

extension ControlService {
    /// Says nothing before the answer.
    public func respond(to request: ControlRequest, telling listener: ControlListener) async -> ControlResponse {
        await respond(to: request)
    }
}

/// The client that waits for an answer, and can be told how things stand meanwhile.
public struct ControlListener: Sendable {
    /// The process that asks, as the kernel knows it (SO_PEERCRED).
    public var peer: Int32 { process.pid }
    package let process: PeerProcess
    private let write: @Sendable (ControlResponse) async throws -> Void

    init(peer: PeerProcess, _ write: @escaping @Sendable (ControlResponse) async throws -> Void) {
        process = peer
        self.write = write
    }

    /// Returns when the client's socket has taken it: whoever reads slowly makes the caller wait, and costs the memory
    /// of one message. Send what stands then, not what has piled up.
    ///
    /// - Throws: when the client has hung up, or the task is cancelled.
    public func tell(_ news: ControlNews) async throws {
        try Task.checkCancellation()
        try await write(.news(news))
    }
}
