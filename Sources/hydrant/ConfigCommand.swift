import Accounts
import ArgumentParser

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print the path of config.toml, and the keys that it takes.",
        discussion: """
            A domain is a section [domains.NAME] with these keys:

            \(ConfigurationKey.allCases.map { "  \($0.rawValue): \($0.kind.name). \($0.meaning)" }.joined(separator: "\n"))

            Example:
              hydrant config
            """)

    @Flag(help: "Print an object: path, keys (each with key, takes, meaning).")
    var json = false

    private struct Description: Encodable {
        struct Key: Encodable {
            var key: String
            var takes: String
            var meaning: String
        }
        var path: String
        var keys: [Key]
    }

    func run() throws {
        do {
            let file = try ConfigurationFile()
            let keys = ConfigurationKey.allCases.map {
                Description.Key(key: $0.rawValue, takes: $0.kind.name, meaning: $0.meaning)
            }
            if json { return print(Output.json(Description(path: file.path, keys: keys))) }
            print("\(file.path), in a section [domains.NAME]:")
            for key in keys { print("  \(key.key): \(key.takes). \(key.meaning)") }
            // Throws if the file has an error.
            _ = try file.load()
        } catch { throw fail("\(error)") }
    }
}
