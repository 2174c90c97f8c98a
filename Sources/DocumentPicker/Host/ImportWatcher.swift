import CLinux
import ChildProcess
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
        // (Whose runtime folder it works in is seen by who looks for what is left of a session.)
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"].map { ["XDG_RUNTIME_DIR=\($0)"] } ?? []
        let pid: pid_t
        do {
            pid = try Spawn.start(
                words[0], words.map { Array($0.utf8) },
                environment: (["PATH=/usr/bin:/bin"] + runtime).map { Array($0.utf8) }, as: .ownSession
            ) { actions in
                for descriptor in Int32(0)...2 {
                    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
                }
                // Nobody is to wait for a pipe, or for a lock, that it has from whoever started this program.
                clinux_spawn_close_from(&actions, 3)
            }
        } catch { throw DocumentPickerError("\(words[0]): \(error.reason)") }
        // It may end before this program does.
        let thread = Thread { while waitpid(pid, nil, 0) < 0 && errno == EINTR {} }
        thread.stackSize = 1 << 18
        thread.start()
    }
}
