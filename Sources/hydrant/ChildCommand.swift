import ChildProcess
import ControlAPI
import Foundation

/// A command that this one runs.
struct ChildCommand: Sendable {
    let words: [String]
    /// Variables added to our environment.
    var environment: [String: String] = [:]

    /// - Returns: the exit status as a shell reports it.
    func run() async throws -> Int32 {
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        return await Spawn.ending(of: try Self.spawn(words[0], words, all))
    }

    /// - Parameter inherited: a descriptor that becomes number 9 in the child.
    static func spawn(
        _ program: String, _ words: [String], _ environment: [String: String], inherited: Int32? = nil
    ) throws -> pid_t {
        do {
            // (SIGPIPE we ignore ourselves.)
            return try Spawn.start(
                program, words.map { ByteText.bytes($0) },
                environment: environment.map { Array("\($0)=\($1)".utf8) }, usual: [SIGPIPE]
            ) { actions in
                if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, 9) }
            }
        } catch { throw fail("\(program): cannot be started: \(error.reason)") }
    }
}
