import Accounts
import CLinux
import Daemon
import FileProvider
import Foundation
import HTTPTransport
import Logging
import RcloneProvider
import Surroundings

extension ProviderRegistration {
    /// `rclone:REMOTE:PATH`: any remote of the user's own rclone, whose configuration has the sign-in.
    static let rclone = ProviderRegistration(scheme: "rclone", kind: .name) { location, _ in
        // The process may have a password in its memory, and hands it to rclone.
        guard clinux_leave_no_core() == 0 else { throw DaemonError("core dumps cannot be turned off") }
        guard let cache = BaseDirectory.cache.path() else { throw DaemonError(BaseDirectory.cache.missing) }
        return try RcloneProvider(
            address: try RcloneAddress(location.rest), program: try RcloneProgram(), cache: cache + "/hydrant/rclone",
            logger: Logger(label: "hydrant"), password: configurationPassword)
    }

    /// The password of an encrypted configuration: in the keyring or a file, under the name `rclone`. (A command that
    /// prints it is rclone's own: `RCLONE_PASSWORD_COMMAND`.)
    @Sendable private static func configurationPassword() async throws -> Secret? {
        let places = try CredentialPlaces("rclone", AccountSettings())
        // On a thread of its own: the keyring may wait for a person.
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try places.find()?.secret }) }
            thread.name = "credential"
            thread.start()
        }
    }
}
