import ArgumentParser
import Daemon
import FileProvider
import FileProviderTesting
import Foundation
import ProcessProvider

/// For authors of providers in other languages.
struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider", abstract: "Check a provider program in any language.",
        discussion: """
            A provider program speaks the provider protocol over standard input and output. Hydrant runs it for \
            SCHEME:… when it is in PATH under the name hydrant-provider-SCHEME.

            Example:
              hydrant provider test -- python3 notes.py
            """,
        subcommands: [Test.self])

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run the conformance suite against a provider program; says each rule.",
            discussion: """
                The suite makes a folder in the store, tries everything there, and deletes it. In a store that takes no \
                changes it only looks. Use a store whose documents you can do without.

                Examples:
                  hydrant provider test -- ./hydrant-provider-notes
                  hydrant provider test --store notes:/tmp/notes.db --second-client -- python3 notes.py
                  hydrant provider test --rule 402 --rule 403 -- ./hydrant-provider-notes

                Exit status 0: no rule is broken; 1: some are, or the program cannot be served.
                """)

        @Option(
            help: ArgumentHelp(
                "The store that the program is told to serve (default: test:).", valueName: "scheme:location"))
        var store = "test:"

        @Flag(help: "Run the program twice, as two clients of the store, for the rules about two clients.")
        var secondClient = false

        @Option(help: ArgumentHelp("Check only this rule; may be repeated.", valueName: "number"))
        var rule: [Int] = []

        @Option(help: ArgumentHelp("How long one rule may take.", valueName: "seconds"))
        var timeout = Seconds(60)

        @Flag(help: "Print an object: passed, rules (each with number, rule, outcome, reason), cleanupProblem.")
        var json = false

        @Argument(
            parsing: .postTerminator,
            help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"))
        var command: [String] = []

        private struct Report: Encodable {
            struct Rule: Encodable {
                var number: Int
                var rule: String
                /// ok, broken or skipped
                var outcome: String
                var reason: String?
            }
            var passed: Bool
            var rules: [Rule]
            var cleanupProblem: String?
        }

        func validate() throws {
            guard !command.isEmpty else { throw ValidationError("name the program behind --") }
            let known = ConformanceSuite.rules.map(\.number)
            if let unknown = rule.first(where: { !known.contains($0) }) {
                throw ValidationError("--rule \(unknown): there is no such rule")
            }
        }

        func run() async throws {
            let rules = ConformanceSuite.rules.filter { rule.isEmpty || rule.contains($0.number) }
            var clients: [ProcessProvider] = []
            do {
                for _ in 0..<(secondClient ? 2 : 1) { clients.append(try await start()) }
                let suite = ConformanceSuite(
                    provider: clients[0], otherClient: clients.count > 1 ? clients[1] : nil, rules: rules,
                    timeLimit: .seconds(timeout.value))
                if clients.count > 1 {
                    // The suite calls it for the first one only.
                    try await clients[1].beginServing(ConformanceSuite.unmountedDomain(of: clients[1]))
                }
                let report = Self.report(await suite.run())
                for client in clients { await client.end() }
                try show(report)
                if !report.passed { throw ExitCode(CommandExit.failed) }
            } catch let error as FileProviderError {
                for client in clients { await client.end() }
                throw fail(error.message)
            }
        }

        private func start() async throws -> ProcessProvider {
            let location: StoreLocation
            let folder = FileManager.default.currentDirectoryPath
            do { location = try StoreLocation(store, kind: .name, workingDirectory: folder) } catch {
                throw fail(error.message, CommandExit.usage)
            }
            // (A path with a slash is relative to this folder, as in a shell.)
            let command = ProgramCommand(
                words: command, store: store, path: location.path, workingDirectory: folder, release: Release.version)
            return try await ProcessProvider.start(command, logger: nil)
        }

        private static func report(_ report: ConformanceReport) -> Report {
            Report(
                passed: report.isPassed,
                rules: report.results.map { result in
                    let (outcome, reason): (String, String?) =
                        switch result.outcome {
                        case .passed: ("ok", nil)
                        case .failed(let reason): ("broken", reason)
                        case .skipped(let reason): ("skipped", reason)
                        }
                    return .init(
                        number: result.rule.number, rule: result.rule.title, outcome: outcome, reason: reason)
                }, cleanupProblem: report.cleanupProblem)
        }

        private func show(_ report: Report) throws {
            if json { return try StandardOutput.write(Output.json(report)) }
            for rule in report.rules {
                let number = "\(rule.number)".padding(toLength: 6, withPad: " ", startingAt: 0)
                let outcome = rule.outcome.padding(toLength: 9, withPad: " ", startingAt: 0)
                try StandardOutput.write(["\(outcome)\(number)\(rule.rule)"])
                if let reason = rule.reason {
                    try StandardOutput.write([String(repeating: " ", count: 15) + reason])
                }
            }
            if let problem = report.cleanupProblem {
                try StandardOutput.write(["not cleaned up: \(problem)"])
            }
            let counts = ["ok", "broken", "skipped"].map { outcome in
                "\(report.rules.count { $0.outcome == outcome }) \(outcome)"
            }
            try StandardOutput.write([counts.joined(separator: ", ")])
        }
    }
}
