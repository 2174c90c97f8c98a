package import Foundation

/// Starts programs (posix_spawn(3)) with no signal blocked: this may be one of Dispatch's threads, which block nearly all of them,
/// and a program keeps that from whoever starts it.
package enum Spawn {
    package struct Failure: Error {
        package let number: Int32
        /// For people.
        package var reason: String { String(cString: strerror(number)) }
    }

    package enum Kind {
        case ordinary
        /// It outlives the terminal.
        case ownSession
        /// All that it starts can be ended with it.
        case ownGroup

        // POSIX_SPAWN_SETSID (spawn.h), which Swift does not import.
        fileprivate var flag: Int32 {
            switch self {
            case .ordinary: 0
            case .ownSession: 0x80
            case .ownGroup: POSIX_SPAWN_SETPGROUP
            }
        }
    }

    /// - Parameters:
    ///   - program: its path, or a name that is looked for in PATH.
    ///   - words: what it is called with, its name first.
    ///   - environment: each as `NAME=VALUE`; nil: this process's.
    ///   - usual: signals that have their usual effect on it, whatever they have here.
    ///   - files: what it has open, and where it begins.
    package static func start(
        _ program: String, _ words: [[UInt8]], environment: [[UInt8]]? = nil, as kind: Kind = .ordinary,
        usual: [Int32] = [], _ files: (inout posix_spawn_file_actions_t) -> Void
    ) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        files(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in usual { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | kind.flag))
        let (argv, envp) = (copies(words), environment.map(copies) ?? [])
        defer { for text in argv + envp { free(text) } }
        var child = pid_t()
        let code =
            environment == nil
            ? posix_spawnp(&child, program, &actions, &attributes, argv, environ)
            : posix_spawnp(&child, program, &actions, &attributes, argv, envp)
        guard code == 0 else { throw Failure(number: code) }
        return child
    }

    private static func copies(_ texts: [[UInt8]]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { text in
            (text.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { strdup($0.baseAddress!) }
        } + [nil]
    }

    /// How a child ended, as a shell would say it; on a thread of its own, since that may take days.
    package static func ending(of child: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread {
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0 && errno == EINTR {}
                continuation.resume(returning: Self.status(ofWait: status))
            }.start()
        }
    }

    /// As WIFEXITED, WEXITSTATUS and WTERMSIG have it (wait(2)).
    static func status(ofWait status: Int32) -> Int32 {
        status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }
}
