import CLinux
import ControlAPI
import Foundation

/// A small process that removes a temporary copy when the program that it is for has ended, even if the picker and the
/// daemons have ended by then.
enum ImportWatcher {
    /// `$1`: the pid; `$2`: its start time (field 22 of /proc/PID/stat, proc(5)), which tells a reused pid; `$3`: the
    /// folder.
    private static let script = #"""
        cd /
        while read -r line < "/proc/$1/stat"; do
            set -- "$1" "$2" "$3" ${line##*) }
            case $4 in Z | X) break ;; esac
            [ "${23}" = "$2" ] || break
            sleep 1
        done 2> /dev/null
        rm -rf -- "$3"
        """#

    /// - Parameter name: the folder's name, in the form of ``ImportFolder``.
    static func start(_ name: String) throws {
        let parts = name.split(separator: ".")
        guard parts.count == 3, ImportFolder(name: name) != nil else {
            throw DocumentPickerError("\(name): not the folder of an imported copy")
        }
        let folder = try ImportFolder.parent() + "/" + name
        let words = ["/bin/sh", "-c", script, "hydrant-import", String(parts[0]), String(parts[1]), folder]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in Int32(0)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        // Close inherited descriptors, so that nobody waits for a pipe or a lock that the watcher holds.
        clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        let newSession: Int16 = 0x80  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // Keep the variable: a search for leftovers of a session sees by it whose runtime folder the watcher works in.
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].map { ["XDG_RUNTIME_DIR=\($0)"] } ?? []
        let (argv, envp) = (
            words.map { strdup($0) } + [nil], (["PATH=/usr/bin:/bin"] + runtime).map { strdup($0) } + [nil]
        )
        defer { for word in argv + envp { free(word) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, words[0], &actions, &attributes, argv, envp)
        guard code == 0 else { throw DocumentPickerError("\(words[0]): \(String(cString: strerror(code)))") }
        // Wait for it, because it may end before this program does.
        let thread = Thread { [pid] in while waitpid(pid, nil, 0) < 0 && errno == EINTR {} }
        thread.stackSize = 1 << 18
        thread.start()
    }
}
