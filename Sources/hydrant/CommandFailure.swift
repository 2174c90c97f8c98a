import ArgumentParser
import ControlAPI
import Foundation

/// How a command ends when it could not do what it was asked (sysexits.h where one fits).
enum CommandExit {
    static let failed: Int32 = 1
    static let unavailable: Int32 = 69
    static let tryAgain: Int32 = 75
}

/// Prints one line and ends with a status.
func fail(_ message: String, _ status: Int32 = CommandExit.failed) -> ExitCode {
    FileHandle.standardError.write(Data("hydrant: \(message)\n".utf8))
    return ExitCode(status)
}

/// Sends a request to the daemon of a mount; an error becomes a line and an exit status.
func ask(_ mountPoint: String, _ request: ControlRequest, timeout: Double? = nil) async throws(ExitCode)
    -> ControlResponse
{
    do {
        let client = ControlClient(socketPath: try SocketDirectory.socketPath(mountPoint: mountPoint))
        let response = try await client.send(request, timeout: timeout)
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
