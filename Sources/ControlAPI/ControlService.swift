/// Who answers the requests that come in over the socket: the daemon.
public protocol ControlService: Sendable {
    /// Called once a request; requests of different connections run concurrently, those of one
    /// connection one after another. The task is cancelled when the client hangs up or the server stops.
    func respond(to request: ControlRequest) async -> ControlResponse
}
