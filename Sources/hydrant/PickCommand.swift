import ArgumentParser
import ControlAPI
import DocumentPicker
import FileCoordination
import Foundation
import TerminalPicker
import UniformTypes

struct PickCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pick", abstract: "Let the user choose a document, or a place for one, and print its path.",
        discussion: """
            Mode import prints the path of a copy of the document; Hydrant removes the copy when the process that ran \
            this command ends. Mode open prints the path of the document, for editing in place, or, with --bookmark, a \
            bookmark with a right to the document. Only --bookmark, --container and --for give a right; it is valid \
            until hydrant grants revokes it, or for --days. Mode export copies SOURCE to the place that the user \
            chooses. Mode move moves SOURCE there, for editing there from then on.

            The picker draws on the terminal, not on standard output. With --json it draws nothing, for front ends in \
            other languages: each view is a line on standard output, each action of the user a line on standard input; \
            the last line is {"result": …}.

            In a pipeline use --owner $$, so that the copy of an import stays until your shell ends.

            Examples:
              attach "$(hydrant pick --mode import --type image/* --type .pdf)"
              hydrant pick --mode open --type public.text --bookmark > letter.bookmark
              hydrant pick --mode export report.odt
              printf '%s\\n' '{"do":"choose","id":"letter.odt"}' | hydrant pick --mode open --json

            Exit status: 1 the user closed the picker, or it failed (then a line says why).
            """)

    enum Mode: String, CaseIterable, ExpressibleByArgument { case `import`, open, export, move }

    @Option(help: "The mode: import or open a document; export or move SOURCE.")
    var mode: Mode

    @Option(
        name: .customLong("type"),
        help: ArgumentHelp(
            "A type that may be chosen: public.image, image/jpeg, image/*, .pdf; may be repeated. Others are greyed out.",
            valueName: "type"))
    var types: [String] = []

    @Argument(help: "The document to export or to move.", completion: .file())
    var source: String?

    @Flag(help: "Begin with the menu of all places, not with the place used last.")
    var menu = false

    @Option(
        help: ArgumentHelp("open, move: a folder to write a reference document into as well.", valueName: "folder"),
        completion: .directory)
    var container: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("open, move: only this executable may use the right.", valueName: "executable"),
        completion: .file())
    var program: String?

    @Option(
        help: ArgumentHelp(
            "import: the process whose end removes the copy; default: the one that ran this command.", valueName: "pid")
    )
    var owner: Int32?

    @Flag(
        help: "open, move: print a bookmark with a right to the document instead of a path; with --json, both.")
    var bookmark = false

    @Option(
        help: ArgumentHelp(
            "open, move: days until the right ends; default: it is valid until revoked (hydrant grants).",
            valueName: "number"))
    var days: Double?

    @Flag(help: "Exchange JSON lines instead of drawing.")
    var json = false

    private struct Result: Encodable {
        var mode: DocumentPickerMode
        var path: String
        var bookmark: String?
        var reference: String?
        var inStore: Bool

        private enum CodingKeys: String, CodingKey { case mode, path, bookmark, reference, inStore }

        // By hand, to keep the keys of nil values.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(mode, forKey: .mode)
            try container.encode(path, forKey: .path)
            try container.encode(bookmark, forKey: .bookmark)
            try container.encode(reference, forKey: .reference)
            try container.encode(inStore, forKey: .inStore)
        }
    }

    func validate() throws {
        let chooses = mode == .import || mode == .open
        if chooses != (source == nil) {
            throw ValidationError(
                chooses ? "--mode \(mode.rawValue) takes no SOURCE" : "name a SOURCE to \(mode.rawValue)")
        }
        if !chooses && !types.isEmpty { throw ValidationError("--type needs --mode import or open") }
        let shares = mode == .open || mode == .move
        if !shares && (container != nil || program != nil || bookmark || days != nil) {
            throw ValidationError("--container, --for, --bookmark and --days need --mode open or move")
        }
        if let days, !(days > 0 && days < 1_000_000) {
            throw ValidationError("--days: choose a number above 0 and below a million")
        }
        if days != nil && !givesRight {
            throw ValidationError("--days needs --bookmark, --container or --for")
        }
        if mode != .import && owner != nil { throw ValidationError("--owner needs --mode import") }
    }

    /// A printed path alone gives nobody the use of a right.
    private var givesRight: Bool { bookmark || container != nil || program != nil }

    func run() async throws {
        do {
            var picker = try makePicker()
            picker.showsMenu = menu
            picker.owner = owner ?? getppid()
            picker.program = try program.map { try Executable.find($0) }
            picker.givesRight = givesRight
            picker.until = days.map { Date(timeIntervalSinceNow: $0 * 86_400) }
            picker.container = container.map { URL(filePath: $0, directoryHint: .isDirectory) }
            let picked = json ? try await picker.present(on: JSONFront()) : try await present(picker)
            let result = picked.map { picked in
                Result(
                    mode: picked.mode, path: picked.url.path(percentEncoded: false),
                    bookmark: picked.scopedURL?.bookmark.text,
                    reference: picked.reference?.path(percentEncoded: false), inStore: picked.isInStore)
            }
            if json {
                try StandardOutput.write(Output.json(["result": result], oneLine: true))
            } else if let result {
                try StandardOutput.write(paths: [bookmark ? result.bookmark ?? "" : result.path])
            }
            if picked == nil { throw ExitCode(CommandExit.failed) }
        } catch let error as DocumentPickerError {
            throw fail(error.message)
        } catch let error as CoordinationError {
            throw fail(error.message)
        }
    }

    private func makePicker() throws -> DocumentPicker {
        let mode = DocumentPickerMode(rawValue: mode.rawValue)!
        if let source { return try DocumentPicker(mode, source: URL(filePath: source, directoryHint: .notDirectory)) }
        let types = try types.map { name in
            guard let type = UniformTypeTable.system.type(named: name) else {
                throw fail(
                    "“\(name)” is not a known type; name an identifier, a MIME type or an extension",
                    CommandExit.usage)
            }
            return type
        }
        return try DocumentPicker(mode, types: types)
    }

    private func present(_ picker: DocumentPicker) async throws -> PickedDocument? {
        let front = try TerminalFront()
        do {
            let picked = try await picker.present(on: front)
            await front.end()
            return picked
        } catch {
            await front.end()
            throw error
        }
    }
}

/// The picker for front ends in other languages: a view a line out, an action a line in.
struct JSONFront: DocumentPickerFront {
    func show(_ view: PickerView) async {
        try? StandardOutput.write(Output.json(view, oneLine: true))
    }

    func refused(_ action: PickerAction, _ why: String) async {
        warn("\(Output.json(action, oneLine: true).text): not possible now: \(why)")
    }

    func actions() -> AsyncStream<PickerAction> {
        let (actions, inbox) = AsyncStream<PickerAction>.makeStream()
        Thread {
            while let line = readLine() {
                if line.isEmpty { continue }
                do { inbox.yield(try JSONDecoder().decode(PickerAction.self, from: Data(line.utf8))) } catch {
                    let why = (error as? DecodingError)?.words ?? "\(error)"
                    warn("“\(line.prefix(200))” is not an action: \(why)")
                }
            }
            inbox.finish()
        }.start()
        return actions
    }
}
