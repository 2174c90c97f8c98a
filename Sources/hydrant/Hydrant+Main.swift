import ArgumentParser
import ControlAPI
import Foundation

extension Hydrant {
    /// As ArgumentParser's own, except that every error is one line on standard error.
    static func main() async {
        do {
            var command = try await asyncParseAsRoot(Array(ByteText.arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = exitCode(for: error)
            // The error is printed already, or there is none (help, completions).
            if error is ExitCode || code.isSuccess { exit(withError: error) }
            let line = message(for: error).split(whereSeparator: \.isNewline).joined(separator: " ")
            let isUsage = code == .validationFailure
            _ = fail(isUsage ? "\(line)\(advice); see \(help)" : line)
            Foundation.exit(isUsage ? CommandExit.usage : CommandExit.failed)
        }
    }

    /// A query's negation (`-kind:pdf`) looks like an option.
    private static var advice: String {
        let words = CommandLine.arguments.dropFirst()
        guard words.first == FindCommand.configuration.commandName,
            let word = words.first(where: { $0.count > 2 && $0.hasPrefix("-") && !$0.hasPrefix("--") })
        else { return "" }
        let what = ByteText.shown(String(word.dropFirst()))
        return "; to exclude \(what) write NOT \(what), or put the whole query behind --"
    }

    /// The command that prints the help of the subcommand in use.
    private static var help: String {
        let names = configuration.subcommands.map { $0.configuration.commandName ?? "" }
        let named = CommandLine.arguments.dropFirst().first { names.contains($0) }
        return named.map { "hydrant help \($0)" } ?? "hydrant help"
    }
}
