import ArgumentParser
import ControlAPI
import DocumentContainers
import Foundation
import UniformTypes

struct ContainersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "containers", abstract: "Manage the folders that programs have in domains.",
        discussion: """
            With a manifest a program offers a folder of its own to other programs' pickers. The manifest has \
            identifier and name; optional are icon, public (true, false), levels (none, one, any: how deep folders may \
            be nested), types, folder, domain and program.

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
            Print an array of objects: identifier, name, public, levels, types, domain, path, problem (why the \
            container has no path now); every key is always there.
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

        // By hand, to keep the keys of nil values.
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

    @Argument(help: "The container's manifest, a TOML file.", completion: .file(extensions: ["toml"]))
    var manifest: String

    @Flag(help: "Print an object: identifier, and the other keys of hydrant containers list --json.")
    var json = false

    func run() async throws {
        do {
            // Errors of this call name the file.
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
        commandName: "remove", abstract: "Forget a container that this user has added; keep its documents.",
        discussion: """
            Example:
              hydrant containers remove org.example.notes
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Flag(
        help: """
            Print an object: removed (the identifier), manifest (another one that declares the container, or null).
            """)
    var json = false

    func run() async throws {
        let left: String?
        do { left = try DocumentContainer.uninstall(identifier) } catch { throw fail(error.message) }
        if json { return print(Output.json(["removed": identifier, "manifest": left.map(ByteText.shown)])) }
        guard let left else { return print("\(identifier): removed; its documents stay in their place") }
        try StandardOutput.write(["\(identifier): removed, but \(left) still declares it"])
    }
}

struct ContainersChooseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "choose", abstract: "Choose the domain of a container whose manifest names none.",
        discussion: """
            Example:
              hydrant containers choose org.example.notes work
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Argument(help: "The domain's name (hydrant status).")
    var domain: String

    @Flag(help: "Print an object: identifier, and the other keys of hydrant containers list --json.")
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
        commandName: "path", abstract: "Print the folder of a container; create it if it does not exist.",
        discussion: """
            Example:
              cp new.txt "$(hydrant containers path org.example.notes)"
            """)

    @Argument(help: "Its identifier.")
    var identifier: String

    @Flag(help: "Print an object: identifier, and the other keys of hydrant containers list --json.")
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
