import ArgumentParser
import ControlAPI
import Foundation
import Surroundings

/// Prints one line and ends with a status.
func fail(_ message: String, _ status: Int32 = CommandExit.failed) -> ExitCode {
    warn(message)
    return ExitCode(status)
}

/// Prints a line on standard error; the command goes on.
func warn(_ message: String) {
    FileHandle.standardError.write(Data("hydrant: \(ShownText.line(ByteText.shown(message)))\n".utf8))
}

/// Sends a request to the daemon of a mount; an error becomes a line and an exit status.
func ask(_ mountPoint: String, _ request: ControlRequest, timeout: Double? = nil) async throws(ExitCode)
    -> ControlResponse
{
    try await answer(of: mountPoint) { client in try await client.send(request, timeout: timeout) }
}

/// As ``ask(_:_:timeout:)``; the daemon's news before its answer goes to `onNews`.
///
/// - Parameter ended: called before a failure is printed, and before this returns.
func follow(
    _ mountPoint: String, _ request: ControlRequest, ended: () -> Void = {},
    _ onNews: (ControlNews) async throws -> Void
) async throws(ExitCode) -> ControlResponse {
    try await answer(of: mountPoint) { client in
        defer { ended() }
        return try await client.follow(request, onNews: onNews)
    }
}

private func answer(
    of mountPoint: String, _ body: (ControlClient) async throws -> ControlResponse
) async throws(ExitCode) -> ControlResponse {
    do {
        let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
        let response = try await body(client)
        if case .failure(let failure) = response { throw fail(failure.message) }
        return response
    } catch let code as ExitCode {
        throw code
    } catch let error as ControlError {
        throw fail("\(mountPoint): \(error)", error.code == .notRunning ? CommandExit.unavailable : CommandExit.failed)
    } catch {
        throw fail("\(mountPoint): \(error)")
    }
}
