import Glibc
import Surroundings

/// The names by which a rule may mean a process, and the process's own decision. Read from `/proc`, proc(5), with some
/// system calls each: so never while a program waits for bytes that are here.
struct ProgramIdentity {
    /// The executable's name, the name of the script that an interpreter runs, and the command's name.
    var names: [String] = []
    /// The command's name, cut off by the kernel after 15 bytes.
    var command: String?
    var parent: Int32 = 0
    /// The value of `HYDRANT_DOWNLOADS` in the environment; nil: none.
    var own: PolicyDecision?

    /// With this variable a program decides for itself, and for its child processes, whether it may download.
    static let variable = "HYDRANT_DOWNLOADS"

    /// Nil: there is no such process (any more).
    init?(pid: Int32) {
        guard let status = SystemFile.read("/proc/\(pid)/status") else { return nil }
        for line in status.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "Name:".utf8) {
                command = String(decoding: line.dropFirst(6), as: UTF8.self)
            } else if line.starts(with: "PPid:".utf8) {
                parent = Int32(String(decoding: line.dropFirst(6), as: UTF8.self)) ?? 0
            }
        }
        if let executable = SystemFile.link("/proc/\(pid)/exe") { names.append(Self.last(executable)) }
        if let command { names.append(command) }
        // An interpreter's first argument that is no option is its script, or a desktop worker process's plug-in.
        if let interpreter = names.first.flatMap({ Interpreter.named($0) }) {
            let arguments = SystemFile.read("/proc/\(pid)/cmdline", most: 4_096) ?? []
            let words = arguments.split(separator: 0, omittingEmptySubsequences: false).dropFirst()
            let script = interpreter.script(words.map { String(decoding: $0, as: UTF8.self) })
            if let script { names.append(Self.last(script)) }
        }
        let environment = SystemFile.read("/proc/\(pid)/environ", most: Self.largestEnvironment) ?? []
        let prefix = Self.variable.utf8 + [UInt8(ascii: "=")]
        if let entry = environment.split(separator: 0).first(where: { $0.starts(with: prefix) }) {
            own = PolicyDecision(rawValue: String(decoding: entry.dropFirst(prefix.count), as: UTF8.self))
        }
    }

    /// In bytes: execve(2) takes hardly more.
    private static let largestEnvironment = 2 << 20

    private static func last(_ path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return name.hasSuffix(" (deleted)") ? String(name.dropLast(10)) : name
    }

    /// The process's name that the rule means; nil: the rule means another program.
    func name(meantBy rule: PolicyRule) -> String? {
        if let name = names.first(where: { fnmatch(rule.program, $0, 0) == 0 }) { return name }
        // The kernel may have cut off the name.
        guard let command, command.utf8.count == 15, !rule.program.contains("*"),
            rule.program.utf8.starts(with: command.utf8)
        else { return nil }
        return rule.program
    }
}
