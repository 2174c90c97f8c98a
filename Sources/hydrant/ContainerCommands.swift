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

    fileprivate static func show(_ container: DocumentContainer) async throws {
        try StandardOutput.write(Output.json(await ContainersListCommand.Line(container)))
    }
}

struct ContainersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the containers that are installed.",
        discussion: """
            Example:
              hydrant containers list --json | jq -r '.[].path'
            """)

    @Flag(
        help: """
            Print an array of objects: identifier, name, public, levels, types, domain, path, problem (why it is nowhere now); each \
            always there.
            """)
    var json = false

    fileprivate struct Line: Encodable {
        var container: DocumentContainer
        var place: DocumentContainer.Place?
        var problem: String?

        init(_ container: DocumentContainer) async {
            self.container = container
            do { place = try await container.place() } catch { problem = error.message }
        }

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
        for container in containers { lines.append(await Line(container)) }
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
        commandName: "add", abstract: "Make a container known to this user's programs.",
        discussion: """
            Example:
              hydrant containers add notes.toml
            """)

    @Argument(help: "Its manifest, a TOML file.", completion: .file(extensions: ["toml"]))
    var manifest: String

    @Flag(help: "Print an object: identifier, and what else hydrant containers list --json has.")
    var json = false

    func run() async throws {
        do {
            // (So that an error names the file.)
            _ = try DocumentContainer.read(manifest)
            let text = try String(contentsOf: URL(filePath: manifest, directoryHint: .notDirectory), encoding: .utf8)
            let container = try DocumentContainer.install(manifest: text)
            if json { return try await ContainersCommand.show(container) }
            print("\(container.identifier): added")
        } catch { throw fail("\(error)") }
    }
}

struct ContainersRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Forget a container that this user has added; the documents in it stay.",
        discussion: """
            Example:
              hydrant containers remove org.example.notes
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Flag(
        help: """
            Print an object: removed (the identifier), manifest (the file by which it is known all the same; else null).
            """)
    var json = false

    func run() async throws {
        let left: String?
        do { left = try DocumentContainer.uninstall(identifier) } catch { throw fail(error.message) }
        if json { return print(Output.json(["removed": identifier, "manifest": left.map(ByteText.shown)])) }
        guard let left else { return print("\(identifier): removed; its documents stay where they are") }
        try StandardOutput.write(["\(identifier): removed, but programs know it all the same, by \(left)"])
    }
}

struct ContainersChooseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "choose", abstract: "Say in which domain a container is to be, whose manifest does not.",
        discussion: """
            Example:
              hydrant containers choose org.example.notes work
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Argument(help: "The domain's name (hydrant status).")
    var domain: String

    @Flag(help: "Print an object: identifier, and what else hydrant containers list --json has.")
    var json = false

    func run() async throws {
        let container = try ContainersCommand.named(identifier)
        do { try container.choose(domain: domain) } catch { throw fail(error.message) }
        if json { return try await ContainersCommand.show(container) }
        print("\(identifier): in \(domain)")
    }
}

struct ContainersPathCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "path", abstract: "Print the folder of a container; it is made if it is not there.",
        discussion: """
            Example:
              cp new.txt "$(hydrant containers path org.example.notes)"
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Flag(help: "Print an object: identifier, and what else hydrant containers list --json has.")
    var json = false

    func run() async throws {
        let container = try ContainersCommand.named(identifier)
        let url: URL
        do { url = try await container.url() } catch { throw fail(error.message) }
        if json { return try await ContainersCommand.show(container) }
        let path = ByteText.text(of: url)
        try StandardOutput.write(paths: [path.hasSuffix("/") ? String(path.dropLast()) : path])
    }
}
