package import FileProvider
import Foundation

/// The user's rclone.
package struct RcloneProgram: Sendable {
    /// Absolute.
    package let path: String
    /// What it starts with.
    let environment: [String: String]

    /// The oldest version with all that is used here: `--inplace`'s temporary names, folders' markers in S3.
    static let oldest = [1, 63, 0]
    /// The oldest that opens an encrypted configuration with a password from here (`config/unlock`).
    static let oldestUnlocking = [1, 72, 0]
    static var oldestText: String { oldest.prefix(2).map(String.init).joined(separator: ".") }

    /// Looks for it: the path in `RCLONE`, else `rclone` in `PATH`.
    ///
    /// - Throws: when there is none, with what to do.
    package init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(FileProviderError) {
        if let named = environment["RCLONE"], !named.isEmpty {
            guard named.hasPrefix("/"), access(named, X_OK) == 0 else {
                throw FileProviderError(
                    .unsupported, "\(named) (the variable RCLONE): is not the absolute path of a program")
            }
            path = named
        } else {
            let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map(String.init)
            let found = folders.filter { $0.hasPrefix("/") }.map { $0 + "/rclone" }.first { Self.isProgram($0) }
            guard let found else {
                throw FileProviderError(
                    .unsupported,
                    "rclone: is not installed; install rclone \(Self.oldestText) or later (rclone.org/install), or set "
                        + "RCLONE to its path")
            }
            path = found
        }
        self.environment = Self.kept(environment)
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Flags in the user's environment that change what a copy or a move does, that restrict which documents are seen,
    /// or that belong to the server itself, are for the user's own commands.
    ///
    /// Source: rclone.org/docs (“Environment Variables”): each flag has a variable.
    private static func kept(_ environment: [String: String]) -> [String: String] {
        let names: Set<String> = [
            "RCLONE", "RCLONE_DRY_RUN", "RCLONE_INTERACTIVE", "RCLONE_IMMUTABLE", "RCLONE_INPLACE", "RCLONE_UPDATE",
            "RCLONE_SIZE_ONLY", "RCLONE_CHECKSUM", "RCLONE_BACKUP_DIR", "RCLONE_SUFFIX", "RCLONE_SUFFIX_KEEP_EXTENSION",
            "RCLONE_COMPARE_DEST", "RCLONE_COPY_DEST", "RCLONE_METADATA", "RCLONE_NAME_TRANSFORM",
            "RCLONE_USE_SERVER_MODTIME", "RCLONE_DEFAULT_TIME", "RCLONE_LINKS", "RCLONE_MODIFY_WINDOW",
            "RCLONE_REFRESH_TIMES", "RCLONE_MULTI_THREAD_CUTOFF", "RCLONE_DUMP", "RCLONE_VERBOSE", "RCLONE_QUIET",
            "RCLONE_PROGRESS", "RCLONE_FILES_FROM", "RCLONE_FILES_FROM_RAW", "RCLONE_HASH_FILTER",
            "RCLONE_PARTIAL_SUFFIX", "RCLONE_CUTOFF_MODE", "RCLONE_ASK_PASSWORD", "RCLONE_ERROR_ON_NO_TRANSFER",
        ]
        let beginnings = [
            "RCLONE_RC_", "RCLONE_IGNORE_", "RCLONE_NO_UPDATE_", "RCLONE_NO_CHECK_DEST", "RCLONE_NO_TRAVERSE",
            "RCLONE_FILTER", "RCLONE_INCLUDE", "RCLONE_EXCLUDE", "RCLONE_MAX_", "RCLONE_MIN_", "RCLONE_METADATA_",
            "RCLONE_LOG_", "RCLONE_DELETE_", "RCLONE_TRACK_RENAMES", "RCLONE_SYSLOG", "RCLONE_USE_JSON_LOG",
        ]
        return environment.filter { name, _ in
            !names.contains(name) && !beginnings.contains { name.hasPrefix($0) }
        }
    }

    /// The words of its command line. Nothing secret is among them: other users see them.
    func words(socket: String) -> [String] {
        [
            path, "rcd", "--rc-addr", "unix://" + socket, "--rc-no-auth", "--rc-serve",
            // Any transfer takes as long as it takes.
            "--rc-server-read-timeout", "8760h", "--rc-server-write-timeout", "8760h",
            "--ask-password=false", "--contimeout", "15s", "--timeout", "60s", "--low-level-retries", "4",
            "--log-level", "NOTICE", "--use-json-log=false",
        ]
    }

    /// Nil: new enough.
    ///
    /// - Parameter version: `[1, 75, 2]`.
    static func problem(_ version: [Int]?, _ text: String?) -> String? {
        guard let version, version.lexicographicallyPrecedes(oldest) else { return nil }
        return "rclone \(text ?? version.map(String.init).joined(separator: ".")): is too old; Hydrant needs "
            + "\(oldestText) or later (rclone.org/install)"
    }

    /// Why this rclone cannot be given the password of its configuration; nil: it can.
    static func unlockingProblem(_ version: [Int]?, _ text: String?, _ environment: [String: String]) -> String? {
        guard let version, version.lexicographicallyPrecedes(oldestUnlocking),
            environment["RCLONE_PASSWORD_COMMAND"] == nil
        else { return nil }
        return "rclone's configuration is encrypted, and rclone "
            + "\(text ?? version.map(String.init).joined(separator: ".")) takes its password from nobody but "
            + "RCLONE_PASSWORD_COMMAND: set that to a command that prints it, or install rclone "
            + "\(oldestUnlocking.prefix(2).map(String.init).joined(separator: ".")) or later"
    }
}
