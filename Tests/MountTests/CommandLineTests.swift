import Foundation
import MountHarness
import Testing

/// Help, completions, and what is said to bad input: of every subcommand.
@Suite("The command line")
struct CommandLineTests {
    /// What `--experimental-dump-help` says.
    private struct Tool: Decodable {
        struct Command: Decodable {
            var commandName: String
            var abstract: String?
            var discussion: String?
            var subcommands: [Command]?
            var arguments: [Argument]?
            var shouldDisplay: Bool?
        }
        struct Argument: Decodable {
            struct Name: Decodable { var name: String }
            var abstract: String?
            var valueName: String?
            var shouldDisplay: Bool
            var names: [Name]?
        }
        var command: Command
    }

    private static func commands(_ mount: MountedStore) throws -> [Tool.Command] {
        let dump = try mount.hydrant(["--experimental-dump-help"]).stdout
        let tool = try JSONDecoder().decode(Tool.self, from: Data(dump.utf8))
        return (tool.command.subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay != false }
    }

    @Test("every subcommand has a description, an example, and help for each option; hydrant help names it")
    func help() async throws {
        try await withSandbox { mount in
            let commands = try Self.commands(mount)
            #expect(commands.count >= 15)
            let overview = try mount.hydrant(["help"]).stdout
            for command in commands {
                let name = command.commandName
                #expect(overview.contains("  \(name) "), "\(name)")
                #expect(command.abstract?.isEmpty == false, "\(name) has no abstract")
                #expect(command.discussion?.contains("hydrant \(name)") == true, "\(name) has no example")
                for argument in command.arguments ?? [] where argument.shouldDisplay {
                    let shown = argument.names?.last?.name ?? argument.valueName ?? "?"
                    #expect(argument.abstract?.isEmpty == false, "\(name): \(shown) is not documented")
                }
                // One that only has others below it prints nothing by itself.
                for printing in command.subcommands?.filter({ $0.commandName != "help" }) ?? [command] {
                    let names = (printing.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name)
                    #expect(names.contains("json"), "\(name) \(printing.commandName)")
                    #expect(printing.discussion?.contains("hydrant \(name)") == true, "\(name) \(printing.commandName)")
                }
                let help = try mount.hydrant(["help", name])
                #expect(help.succeeded && help.stderr.isEmpty && help.stdout.contains("USAGE: hydrant \(name)"))
            }
        }
    }

    @Test("--json output of commands that need no mount")
    func json() async throws {
        try await withSandbox { mount in
            func object(_ arguments: [String]) throws -> Any {
                let result = try mount.hydrant(arguments + ["--json"])
                #expect(result.succeeded && result.stderr.isEmpty, "\(result)")
                return try JSONSerialization.jsonObject(with: Data(result.stdout.utf8))
            }
            let mounted = try object(mount.mountCommand()) as? [String: Any]
            #expect(mounted?["mountPoint"] as? String == mount.mountPoint)
            #expect(mounted?["pid"] as? Int == Int(try mount.daemonPID()))
            #expect(mounted?["store"] as? String == "dir:\(mount.store)")
            try mount.run("echo x > new.txt")
            try mount.sync()
            let report = try object(["doctor", mount.mountPoint]) as? [String: Any]
            #expect(report?["mounted"] as? Bool == true && (report?["problems"] as? [Any])?.isEmpty == true)
            try mount.unmount()
            let found = try object(["rescue", mount.sandbox.state, mount.scratch + "/rescued", "--all"])
            #expect((found as? [[String: Any]])?.count == 1)
        }
    }

    @Test(
        "completions for each shell: made, accepted by the shell, with every subcommand",
        arguments: ["bash", "zsh", "fish"])
    func completions(_ shell: String) async throws {
        try await withSandbox { mount in
            let result = try mount.hydrant(["--generate-completion-script", shell])
            #expect(result.succeeded && result.stderr.isEmpty)
            for command in try Self.commands(mount) { #expect(result.stdout.contains(command.commandName)) }
            #expect(result.stdout.contains("mine"), "enumerations are completed")
            try Seeding(mount.scratch).file("script", result.stdout)
            let isInstalled = try mount.sandbox.run(["sh", "-c", "command -v \(shell)"], limit: 5).succeeded
            #expect(isInstalled || shell != "bash")
            if isInstalled {
                let check = try mount.sandbox.run([shell, "-n", mount.scratch + "/script"], limit: 20)
                #expect(check.succeeded, "\(check)")
            }
        }
    }

    @Test("bash completes subcommands, mount points (mounted ones only), and --keep")
    func bash() async throws {
        try await withMount { mount in
            try Seeding(mount.scratch).file(
                "script", try mount.hydrant(["--generate-completion-script", "bash"]).stdout)
            func complete(_ words: [String]) throws -> [String] {
                let quoted = words.map { "'\($0)'" }.joined(separator: " ")
                let line = words.joined(separator: " ")
                return try mount.run(
                    """
                    export PATH="$(dirname "$HYDRANT"):$PATH"
                    set +e +o pipefail
                    source "$SCRATCH/script"
                    COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); COMP_LINE='\(line)'; COMP_POINT=${#COMP_LINE}
                    COMP_TYPE=9; COMP_KEY=9
                    function_name=$(complete -p hydrant | sed 's/.*-F \\([^ ]*\\).*/\\1/')
                    "$function_name" hydrant "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2> /dev/null
                    printf '%s\\n' "${COMPREPLY[@]}"
                    """
                ).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            #expect(try complete(["hydrant", "unm"]).contains("unmount"))
            #expect(try complete(["hydrant", "unmount", ""]).contains(mount.mountPoint))
            let kept = try complete(["hydrant", "resolve", "x", "--keep", ""])
            #expect(Set(kept) == ["mine", "theirs", "both"])
        }
    }

    @Test("bad input: one line on standard error, nothing on standard output, a status that is not 0")
    func badInput() async throws {
        try await withMount { mount in
            let bad: [(arguments: [String], status: Int32)] = [
                (["nonsense"], 64), (["status", "--nonsense"], 64), (["evict"], 64), (["sync", "--timeout", "x"], 64),
                (["sync", "--timeout", "-1"], 64), (["sync", "--timeout", "1e300"], 64),
                (["sync", "--timeout", "nan"], 64),
                (["retry", "--timeout", "1e300"], 64), (["retry", "--timeout", "inf"], 64),
                (["unmount", "--timeout", "1e300", "/"], 64), (["events", "--last", "-1"], 64),
                (["events", "--last", "99999999999999999999"], 64),
                (["coordinate", "--read", mount.mountPoint, "--timeout", "1e300"], 64),
                (["bookmark", "make", mount.mountPoint, "--grant", "read", "--days", "1e300"], 64),
                (["limit", "--download", "1e300", mount.mountPoint], 64),
                (["limit", "--upload", "2000000T", mount.mountPoint], 64),
                (["thumbnail", mount.mountPoint, "--size", "100000000000"], 64), (["unmount"], 64),
                (["unmount", "--timeout", "nan", "/"], 64),
                (["resolve", mount.mountPoint], 64), (["resolve", mount.mountPoint, "--keep", "all"], 64),
                (["open"], 64), (["open", "--list"], 64), (["open", "x", "--menu", "--wait"], 64),
                (["open", "/etc/hostname", "--annotation", "{x"], 64), (["open", "/none/at/all"], 1),
                (["preview"], 64), (["preview", "/none/at/all"], 1), (["print", "x", "--copies", "0"], 64),
                (["print", "/none/at/all"], 1), (["types", "register", "/none"], 1), (["types", "unregister", "x"], 1),
                (["save", "one"], 64), (["discard"], 64), (["retry", "--timeout", "-1"], 64),
                (["unmount", mount.scratch], 69), (["conflicts", mount.scratch], 69), (["retry", mount.scratch], 1),
                (["discard", "--yes", "/"], 1), (["resolve", "/none/at/all", "--keep", "both"], 1),
                (["save", mount.mountPoint + "/none", mount.scratch + "/x"], 1), (["doctor", mount.scratch], 1),
                (["rescue", mount.scratch + "/none", mount.scratch + "/y"], 1),
                (["mount", "nonsense", mount.scratch], 1), (["evict", mount.mountPoint + "/none"], 1),
            ]
            for (arguments, status) in bad {
                let result = try mount.hydrant(arguments)
                #expect(result.status == status && result.stdout.isEmpty, "\(arguments): \(result)")
                #expect(
                    result.stderr.hasPrefix("hydrant: ") && result.stderr.split(separator: "\n").count == 1,
                    "\(arguments): \(result)")
            }
        }
    }
}
