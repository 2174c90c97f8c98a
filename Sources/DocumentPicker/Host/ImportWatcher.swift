import CLinux
import ControlAPI
import Foundation

/// A small process that removes a temporary copy when the program that it is for has ended, whatever has become of the picker
/// and of the daemons by then.
enum ImportWatcher {
    /// `$1`: the process; `$2`: when it was started (field 22 of /proc/PID/stat, proc(5)): numbers are used again; `$3`: the folder.
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

    /// - Parameter name: as ``ImportFolder`` has it.
    static func start(_ name: String) throws {
        let parts = name.split(separator: ".")
        guard parts.count == 3, ImportFolder(name: name) != nil else {
            throw DocumentPickerError("\(name): is no import")
        }
        let folder = try ImportFolder.parent() + "/" + name
        let words = ["/bin/sh", "-c", script, "hydrant-import", String(parts[0]), String(parts[1]), folder]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in Int32(0)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        // Nobody is to wait for a pipe, or for a lock, that it has from whoever started this program.
        clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        let newSession: Int16 = 0x80  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // (Whose runtime folder it works in is seen by who looks for what is left of a session.)
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].map { ["XDG_RUNTIME_DIR=\($0)"] } ?? []
        let (argv, envp) = (
            words.map { strdup($0) } + [nil], (["PATH=/usr/bin:/bin"] + runtime).map { strdup($0) } + [nil]
        )
        defer { for word in argv + envp { free(word) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, words[0], &actions, &attributes, argv, envp)
        guard code == 0 else { throw DocumentPickerError("\(words[0]): \(String(cString: strerror(code)))") }
        // It may end before this program does.
        let thread = Thread { [pid] in while waitpid(pid, nil, 0) < 0 && errno == EINTR {} }
        thread.stackSize = 1 << 18
        thread.start()
    }
}
