import Documents
import Foundation
import UniformTypes

/// The text of a note, as lines of characters.
final class NoteDocument: Document {
    var lines: [[Character]] = [[]]

    override func contents(forType type: UniformType) throws -> DocumentContents {
        .data(Data(lines.map { String($0) }.joined(separator: "\n").utf8))
    }

    override func load(fromContents contents: DocumentContents, ofType type: UniformType) throws {
        guard let text = contents.data.flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw NoteError(description: "this is no text in UTF-8")
        }
        // (By bytes: CR LF is one character in Swift.)
        lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { Array(String(Substring($0))) }
    }
}

struct NoteError: Error, CustomStringConvertible { let description: String }

/// A small editor for the terminal:
///
///     hydrant-note ~/Documents/note.txt
///
/// The note saves itself, takes in what others write, and shows when there are two versions of it.
@main @MainActor
final class Note {
    private enum Event: Sendable { case input([UInt8]), changed, opened(problem: String?) }
    private let (note, screen): (NoteDocument, Screen)
    private var (row, column, top, message) = (0, 0, 0, "")
    private var opening: Task<Void, Never>?
    private var givesUp = false

    static func main() async {
        var problem: String? = "usage, in a terminal: hydrant-note FILE"
        if CommandLine.arguments.count == 2, isatty(0) == 1, isatty(1) == 1 {
            problem = await Note(URL(filePath: CommandLine.arguments[1], directoryHint: .notDirectory)).run()
        }
        guard let problem else { return }
        FileHandle.standardError.write(Data("hydrant-note: \(Screen.plain(problem))\n".utf8))
        exit(1)
    }

    private init(_ url: URL) {
        (note, screen) = (NoteDocument(fileURL: url), Screen())
        note.autosaveDelay = .seconds(3)
    }

    /// - Returns: why it could not be opened.
    private func run() async -> String? {
        let (events, inbox) = AsyncStream<Event>.makeStream()
        let notifications = note.notifications()
        Task { for await _ in notifications { inbox.yield(.changed) } }
        screen.begin(input: { inbox.yield(.input($0)) }, resized: { inbox.yield(.changed) })
        defer { screen.end() }
        opening = Task { inbox.yield(.opened(problem: await open())) }
        draw()
        var keys = Keys()
        for await event in events {
            switch event {
            case .opened(let problem?): return problem
            case .opened(nil): opening = nil
            case .input(let bytes): for key in keys.split(bytes) where await !handle(key) { return nil }
            case .changed: break
            }
            draw()
        }
        return nil
    }

    /// A note that is not there is made.
    private func open() async -> String? {
        do {
            do { try await note.open() } catch let error as DocumentError where error.code == .missing {
                try await note.save(to: note.fileURL, for: .forCreating)
                message = "a new note"
            }
            return nil
        } catch { return "\(error)" }
    }

    private var isClosed: Bool { note.documentState.contains(.closed) }

    // MARK: Keys

    /// - Returns: false: it is over.
    private func handle(_ key: String) async -> Bool {
        message = ""
        if opening != nil {
            if key == Keys.control("Q") { opening?.cancel() }
            return true
        }
        switch key {
        case Keys.control("Q"): return await !quit()
        case Keys.control("S"):
            let operation: Document.SaveOperation = isClosed ? .forCreating : .forOverwriting
            await attempt("saved") { try await $0.save(to: $0.fileURL, for: operation) }
        case Keys.control("K"): await attempt("kept mine") { try await $0.resolveConflict(keeping: .mine) }
        case Keys.control("T"): await attempt("kept theirs") { try await $0.resolveConflict(keeping: .theirs) }
        case Keys.control("B"): await attempt("kept both") { try await $0.resolveConflict(keeping: .both) }
        case Keys.up: row -= 1
        case Keys.down: row += 1
        case Keys.left where column == 0 && row > 0: (row, column) = (row - 1, .max)
        case Keys.left: column -= 1
        case Keys.right where column == note.lines[row].count && row + 1 < note.lines.count:
            (row, column) = (row + 1, 0)
        case Keys.right: column += 1
        case Keys.home, "\u{1b}[H": column = 0
        case Keys.end, "\u{1b}[F": column = .max
        case Keys.pageUp: row -= screen.rows - 2
        case Keys.pageDown: row += screen.rows - 2
        default: edit(key)
        }
        keepInside()
        return true
    }

    private func edit(_ key: String) {
        if isClosed { return message = "the note is gone; ^S saves it anew" }
        if note.documentState.contains(.editingDisabled) { return message = "somebody else writes it; a moment" }
        switch key {
        case "\r", "\n":
            note.lines.insert(Array(note.lines[row][column...]), at: row + 1)
            note.lines[row].removeSubrange(column...)
            (row, column) = (row + 1, 0)
        case Keys.backspace where column > 0:
            column -= 1
            note.lines[row].remove(at: column)
        case Keys.backspace where row > 0:
            column = note.lines[row - 1].count
            note.lines[row - 1] += note.lines.remove(at: row)
            row -= 1
        case Keys.delete where column < note.lines[row].count: note.lines[row].remove(at: column)
        case Keys.delete where row + 1 < note.lines.count: note.lines[row] += note.lines.remove(at: row + 1)
        case _ where key == "\t" || Screen.plain(key) == key:
            note.lines[row].insert(contentsOf: key, at: column)
            column += key.count
        default: return
        }
        note.updateChangeCount(.done)
    }

    private func keepInside() {
        row = min(max(row, 0), note.lines.count - 1)
        column = min(max(column, 0), note.lines[row].count)
        top = min(max(top, row - screen.rows + 3), row)
    }

    private func attempt(_ success: String, _ body: (NoteDocument) async throws -> Void) async {
        do {
            try await body(note)
            message = success
        } catch { message = "\(error)" }
    }

    private func quit() async -> Bool {
        do {
            if isClosed && note.hasUnsavedChanges && !givesUp {
                throw NoteError(description: "the note is gone; ^S saves it anew")
            }
            try await note.close(savingChanges: !givesUp)
            return true
        } catch {
            message = "\(error); ^Q again gives up what is not saved"
            givesUp = true
            return false
        }
    }

    // MARK: The screen

    private func draw() {
        keepInside()
        screen.draw(
            Array(note.lines[top...].prefix(screen.rows - 2)), status: status, hints: hints, row: row - top,
            before: Array(note.lines[row].prefix(column)))
    }

    private var status: String {
        let name = note.fileURL.lastPathComponent + (note.hasUnsavedChanges ? " *" : "")
        if let progress = note.progress { return " \(name): downloading, \(Int(progress.fractionCompleted * 100)) %" }
        if opening != nil { return " \(name): opening" }
        return " \(name)   \(note.documentState)   \(message.isEmpty ? note.lastError.map { "\($0)" } ?? "" : message)"
    }

    private var hints: String {
        if opening != nil { return " ^Q: leave it" }
        guard let other = note.unresolvedConflictVersions.first else { return " ^S: save   ^Q: save and quit" }
        let (mine, theirs) = other.isOwn ? ("mine", "theirs") : ("the copy beside it", "this one")
        return " Two versions. Keep ^K: \(mine)  ^T: \(theirs)  ^B: both   \(other.url.lastPathComponent)"
    }
}
