import ArgumentParser
import ControlAPI
import DocumentContainers
import Foundation
import UniformTypes

struct ContainersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "containers", abstract: "Folders that programs have in domains: list, add, remove, choose, path.",
        discussion: """
            A program offers a folder of its own to other programs' pickers by a manifest: identifier and name, and if it wants \
            icon, public (true, false), levels (none, one, any: how deep folders may lie), types, folder, domain, program.

            Examples:
              hydrant containers add notes.toml
              hydrant containers choose org.example.notes work
              cp new.txt "$(hydrant containers path org.example.notes)"
              hydrant find --container org.example.notes kind:text
            """,
        subcommands: [
            ContainersListCommand.self, ContainersAddCommand.self, ContainersRemoveCommand.self,
            ContainersChooseCommand.self, ContainersPathCommand.self,
        ], defaultSubcommand: ContainersListCommand.self)

    fileprivate static func named(_ identifier: String) throws -> DocumentContainer {
        do { return try DocumentContainer.named(identifier) } catch { throw fail(error.message) }
    }
}

struct ContainersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the containers that are installed.")

    @Flag(
        help: """
            Print an array of objects: identifier, name, public, levels, types, domain, path, problem (why it is nowhere now); each \
            always there.
            """)
    var json = false

    private struct Line: Encodable {
        var container: DocumentContainer
        var place: DocumentContainer.Place?
        var problem: String?

        private enum CodingKeys: String, CodingKey {
            case identifier, name, levels, types, domain, path, problem
            case isPublic = "public"
        }

        // By hand: the keys of nil values stay.
        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(container.identifier, forKey: .identifier)
            try values.encode(container.name, forKey: .name)
            try values.encode(container.isPublic, forKey: .isPublic)
            try values.encode(container.folderLevels, forKey: .levels)
            try values.encode(container.supportedTypes.map(\.identifier), forKey: .types)
            try values.encode(place?.domain, forKey: .domain)
            try values.encode(place.map { ByteText.shown($0.path) }, forKey: .path)
            try values.encode(problem, forKey: .problem)
        }
    }

    func run() async throws {
        let (containers, problems) = DocumentContainer.installed()
        for problem in problems { warn(problem) }
        var lines: [Line] = []
        for container in containers {
            do { lines.append(Line(container: container, place: try await container.place())) } catch {
                lines.append(Line(container: container, problem: error.message))
            }
        }
        if json { return try StandardOutput.write(Output.json(lines)) }
        for line in lines {
            let access = line.container.isPublic ? "public" : "not public"
            let place = line.place.map(\.path) ?? line.problem ?? ""
            try StandardOutput.write(["\(line.container.identifier)  \(line.container.name)  (\(access))  \(place)"])
        }
    }
}

struct ContainersAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Make a container known to this user's programs.")

    @Argument(help: "Its manifest, a TOML file.", completion: .file(extensions: ["toml"]))
    var manifest: String

    func run() async throws {
        do {
            _ = try DocumentContainer.read(manifest)
            let text = try String(contentsOf: URL(filePath: manifest, directoryHint: .notDirectory), encoding: .utf8)
            let container = try DocumentContainer.install(manifest: text)
            print("\(container.identifier): added")
        } catch { throw fail("\(error)") }
    }
}

struct ContainersRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Forget a container that this user has added; the documents in it stay.")

    @Argument(help: "Its identifier.")
    var identifier: String

    func run() async throws {
        do { try DocumentContainer.uninstall(identifier) } catch { throw fail(error.message) }
        print("\(identifier): removed; its documents stay where they are")
    }
}

struct ContainersChooseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "choose", abstract: "Say in which domain a container is to be, whose manifest does not.")

    @Argument(help: "Its identifier.")
    var identifier: String

    @Argument(help: "The domain's name (hydrant status).")
    var domain: String

    func run() async throws {
        let container = try ContainersCommand.named(identifier)
        do { try container.choose(domain: domain) } catch { throw fail(error.message) }
        print("\(identifier): in \(domain)")
    }
}

struct ContainersPathCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print the folder of a container; it is made if it is not there.")

    @Argument(help: "Its identifier.")
    var identifier: String

    func run() async throws {
        let container = try ContainersCommand.named(identifier)
        let url: URL
        do { url = try await container.url() } catch { throw fail(error.message) }
        let path = ByteText.text(of: url)
        try StandardOutput.write(paths: [path.hasSuffix("/") ? String(path.dropLast()) : path])
    }
}
