import ArgumentParser
import ControlAPI
import DocumentInteraction
import FileCoordination
import Foundation
import Synchronization
import UniformTypes

struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open a document in the program that is registered for its type.",
        discussion: """
            The document is downloaded first. The programs are those that the desktop knows (desktop entries, \
            mimeapps.list): the default, then owners of the type, then the others. --list shows them, also for a \
            document that is not here. The program gets HYDRANT_ANNOTATION and HYDRANT_SOURCE_PROGRAM in its \
            environment; over D-Bus it gets hydrant-annotation and hydrant-source-program in platform-data.

            Examples:
              hydrant open ~/Documents/report.odt
              hydrant open ~/Documents/notes.txt --with vim
              hydrant open --list ~/Documents/photo.jpg
              hydrant open --list --type image/png --json
              hydrant open letter.txt --scoped write --annotation '{"page": 3}'

            Exit status: 3 no program is registered for the document's type; with --wait or --scoped, the program's.
            """)

    @Argument(help: "A document or a folder, in a mount or not.", completion: .file())
    var path: String?

    @Option(
        name: .customLong("with"),
        help: ArgumentHelp(
            "The program to open the document in: a desktop entry (org.gnome.TextEditor), its name, or an executable.",
            valueName: "program"))
    var program: String?

    @Flag(help: "Only list the programs for the document, the best first; download nothing.")
    var list = false

    @Flag(help: "Only list the actions for the document: open in a program, preview, copy, print.")
    var menu = false

    @Flag(help: "Put the document on the desktop's clipboard instead; a file manager pastes it.")
    var copy = false

    @Option(
        help: ArgumentHelp("With --list, a type instead of a path: public.png, image/png, .png.", valueName: "type"))
    var type: String?

    @Option(help: ArgumentHelp("An annotation for the program; any JSON.", valueName: "json"))
    var annotation: String?

    @Option(
        help: ArgumentHelp("The name of the program that opens the document, told to the other.", valueName: "name"))
    var source = "hydrant"

    enum Scope: String, CaseIterable, ExpressibleByArgument { case read, write }

    @Option(
        help: """
            The program's right, read or write: Hydrant gives the document in a folder of its own, with nothing else \
            of the mount, until the program ends, and waits for that.
            """)
    var scoped: Scope?

    @Flag(help: "Return when the program has ended, with its status; a program opened over D-Bus is not waited for.")
    var wait = false

    @Flag(
        help: """
            Print an object: path, type, mimeType, program (id, name, icon, rank: default, owner or alternate; \
            terminal, dbus), pid, status. With --list an array of programs, with --menu one of objects: id, kind \
            (open-in, preview, copy, print), title, icon.
            """)
    var json = false

    func validate() throws {
        if list {
            if (path == nil) == (type == nil) { throw ValidationError("--list needs a path, or --type") }
            if program != nil || annotation != nil || scoped != nil || wait {
                throw ValidationError("--list opens nothing, and excludes --with, --annotation, --scoped and --wait")
            }
        } else {
            if menu && copy || (menu || copy) && (program != nil || annotation != nil || scoped != nil || wait) {
                throw ValidationError("--menu and --copy open nothing, and exclude all options but --json")
            }
            if type != nil { throw ValidationError("--type needs --list") }
            if path == nil { throw ValidationError("name a document") }
        }
    }

    func run() async throws {
        try await interacting {
            if let type { return try show(await DocumentInteractionController.programs(for: named(type)), type) }
            let controller = try await DocumentInteractionController(url: ByteText.url(path ?? ""))
            if list {
                return try show(
                    await controller.programs(), "\(controller.name) (\(controller.mimeType ?? "of no known type"))")
            }
            if menu { return try show(await controller.optionsMenu()) }
            if copy { return try await controller.copyToClipboard() }
            try await open(controller)
        }
    }

    private struct MenuLine: Encodable {
        let item: OptionsMenu.Item
        init(_ item: OptionsMenu.Item) { self.item = item }
        private enum CodingKeys: String, CodingKey { case id, kind, title, icon }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(item.id, forKey: .id)
            try container.encode(item.kind, forKey: .kind)
            try container.encode(item.title, forKey: .title)
            try container.encode(item.icon, forKey: .icon)
        }
    }

    private func show(_ menu: OptionsMenu) throws {
        if json { return try StandardOutput.write(Output.json(menu.items.map { MenuLine($0) })) }
        for item in menu.items { try StandardOutput.write(["\(item.id)  \(item.title)"]) }
    }

    private func named(_ text: String) throws -> UniformType {
        guard let type = UniformTypeTable.system.type(named: text) else {
            throw fail("“\(text)” is not a known type; name an identifier, a MIME type or an extension", 64)
        }
        return type
    }

    private func show(_ programs: [OpenInProgram], _ what: String) throws {
        if json { try StandardOutput.write(Output.json(programs.map { ProgramLine($0) })) }
        if programs.isEmpty {
            throw fail("no program is registered for \(what)", CommandExit.nothingToShow)
        }
        if json { return }
        for program in programs {
            try StandardOutput.write(["\(program.id)  \(program.name)  (\(program.rank.rawValue))"])
        }
    }

    private func open(_ controller: DocumentInteractionController) async throws {
        controller.sourceProgram = source
        controller.annotation = try annotation.map { text in
            do { return try AnnotationValue(json: text) } catch {
                throw fail("--annotation: \(error)", CommandExit.usage)
            }
        }
        var chosen: OpenInProgram?
        if let program {
            chosen = await controller.program(named: program)
            if chosen == nil {
                throw fail(
                    "“\(program)” is not an installed program; hydrant open --list shows the programs for the document")
            }
        }
        let isOnTerminal = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].allSatisfy { isatty($0) == 1 }
        let (opened, status): (OpenedDocument, Int32?)
        if scoped == nil {
            opened = try await start(controller, chosen, isOnTerminal)
            status = await ending(of: opened, isOnTerminal)
        } else {
            // The right must end when a signal ends this process, or its terminal closes.
            (opened, status) = try await interruptible(by: [SIGTERM, SIGHUP]) { [chosen] in
                let opened = try await start(controller, chosen, isOnTerminal)
                return (opened, await ending(of: opened, isOnTerminal))
            }
        }
        if json {
            try StandardOutput.write(
                Output.json(
                    Line(
                        path: ByteText.shown(ByteText.text(of: controller.url)), type: controller.type.identifier,
                        mimeType: controller.mimeType, program: ProgramLine(opened.program),
                        pid: opened.processIdentifier, status: status)))
        }
        if let status, status != 0 { throw ExitCode(status) }
    }

    /// The program's exit status; nil: this command does not wait for it.
    private func ending(of opened: OpenedDocument, _ isOnTerminal: Bool) async -> Int32? {
        guard wait || scoped != nil || isOnTerminal && opened.program.isShownInTerminal else { return nil }
        // Leave Ctrl-C to a program in the terminal.
        signal(SIGINT, SIG_IGN)
        return await opened.ended()
    }

    /// Opens the document. On return the download's bar is gone, and its handler of Ctrl-C.
    private func start(
        _ controller: DocumentInteractionController, _ program: OpenInProgram?, _ isOnTerminal: Bool
    ) async throws -> OpenedDocument {
        let display = DownloadDisplay()
        defer { display.clear() }
        return try await controller.open(
            with: program, access: scoped.map { .scoped($0 == .read ? .read : .write) } ?? .path,
            inTerminal: isOnTerminal, progress: display.show)
    }

    private struct ProgramLine: Encodable {
        let program: OpenInProgram
        init(_ program: OpenInProgram) { self.program = program }
        private enum CodingKeys: String, CodingKey { case id, name, icon, rank, terminal, dbus }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(program.id, forKey: .id)
            try container.encode(program.name, forKey: .name)
            try container.encode(program.icon, forKey: .icon)
            try container.encode(program.rank, forKey: .rank)
            try container.encode(program.needsTerminal, forKey: .terminal)
            try container.encode(program.isActivatedOverDBus, forKey: .dbus)
        }
    }

    private struct Line: Encodable {
        var path: String
        var type: String
        var mimeType: String?
        var program: ProgramLine
        var pid: Int32?
        var status: Int32?
        private enum CodingKeys: String, CodingKey { case path, type, mimeType, program, pid, status }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(type, forKey: .type)
            try container.encode(mimeType, forKey: .mimeType)
            try container.encode(program, forKey: .program)
            try container.encode(pid, forKey: .pid)
            try container.encode(status, forKey: .status)
        }
    }
}

/// Runs a body of `DocumentInteraction` calls, and prints its error.
func interacting<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as DocumentInteractionError {
        throw fail(error.message, error.code == .nothingToShow ? CommandExit.nothingToShow : CommandExit.failed)
    }
}

/// The progress of a document's download.
final class DownloadDisplay: Sendable {
    private let display: Mutex<ProgressDisplay>

    /// - Parameter isInterrupted: see ``ProgressDisplay``.
    init(isInterrupted: Bool = true) { display = Mutex(ProgressDisplay(isInterrupted: isInterrupted)) }

    var show: @Sendable (DownloadProgress) -> Void {
        { progress in
            self.display.withLock {
                $0.show(TransferProgress(done: 0, total: 1, bytes: progress.bytes, bytesTotal: progress.total))
            }
        }
    }

    func clear() { display.withLock { $0.clear() } }
}
