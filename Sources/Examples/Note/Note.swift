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
            throw DocumentError(.badContents, "\(localizedName): not UTF-8 text")
        }
        // Split bytes, because CR LF is one character in Swift.
        lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { Array(String(Substring($0))) }
    }
}

/// A small editor for the terminal:
///
///     hydrant-note ~/Documents/note.txt
///
/// The note saves itself, loads what others write, and shows when it exists in two versions.
@main @MainActor
final class Note {
    enum Event: Sendable { case input([UInt8]), lost, changed, over(problem: String?) }
    private let (events, inbox) = AsyncStream<Event>.makeStream()
    private let (note, screen): (NoteDocument, Screen)
    private var (row, column, top, message) = (0, 0, 0, "")
    /// Work that may wait for others, while keys are read.
    private var work: Task<Void, Never>?
    private var (isOpened, isLeaving, isLost, givesUp) = (false, false, false, false)
    private var isClosed: Bool { note.documentState.contains(.closed) }

    static func main() async {
        var problem: String? = "usage, in a terminal: hydrant-note FILE"
        if let url = Document.fileURL(ofArgument: 1), CommandLine.argc == 2, isatty(0) == 1, isatty(1) == 1 {
            problem = await Note(url).run()
        }
        guard let problem else { return }
        try? FileHandle.standardError.write(contentsOf: Data("hydrant-note: \(Screen.plain(problem))\n".utf8))
        exit(1)
    }

    private init(_ url: URL) {
        (note, screen) = (NoteDocument(fileURL: url), Screen())
        (note.autosaveDelay, note.mostBytes) = (.seconds(3), 16 << 20)
    }

    /// - Returns: why the note could not be opened, or not be saved at the end.
    private func run() async -> String? {
        let (notifications, inbox) = (note.notifications(), inbox)
        Task { for await _ in notifications { inbox.yield(.changed) } }
        screen.begin { inbox.yield($0) }
        defer { screen.end() }
        begin { [self] in
            message = try await note.openOrCreate() ? "a new note" : ""
            isOpened = true
        }
        draw()
        var keys = Keys()
        for await event in events {
            switch event {
            case .over(let problem): return problem
            case .input(let bytes): for key in keys.split(bytes) { handle(key) }
            case .lost: leave(lost: true)
            case .changed: break
            }
            draw()
        }
        return nil
    }

    private func handle(_ key: String) {
        keepInside()
        message = ""
        if key == Keys.control("Q") { return leave() }
        if !isOpened { return }
        givesUp = false
        switch key {
        case Keys.control("S") where isClosed: begin("saved", note.recreateFile)
        case Keys.control("S"): begin("saved") { [note] in try await note.save(to: note.fileURL, for: .forOverwriting) }
        case Keys.control("K"): begin("kept mine") { try await self.note.resolveConflict(keeping: .mine) }
        case Keys.control("T"): begin("kept theirs") { try await self.note.resolveConflict(keeping: .theirs) }
        case Keys.control("B"): begin("kept both") { try await self.note.resolveConflict(keeping: .both) }
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
    }

    private func edit(_ key: String) {
        if isClosed { return message = "the note is gone; ^S saves it again" }
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

    /// Runs work that may wait for others.
    private func begin(
        _ success: String? = nil, leaves: Bool = false, _ body: @escaping @MainActor () async throws -> Void
    ) {
        if work != nil { return message = "a moment" }
        work = Task {
            do {
                try await body()
                message = success ?? message
            } catch {
                message = error is CancellationError ? "stopped" : "\(error)"
                if !isOpened || leaves && isLost { inbox.yield(.over(problem: message)) }
                if leaves || error is CancellationError {
                    (givesUp, isLeaving) = (true, false)
                    message += "; ^Q again discards the unsaved text"
                }
            }
            work = nil
            if isLeaving && !leaves { leave() }
            inbox.yield(.changed)
        }
    }

    /// Ends when the present work is done; a second call, or one before the note is open, cancels that work.
    private func leave(lost: Bool = false) {
        isLost = isLost || lost
        if let work {
            if !isOpened || isLeaving && !isLost { work.cancel() }
            return (isLeaving, message) = (true, "a moment; ^Q does not wait for it")
        }
        isLeaving = true
        begin(leaves: true) { [self] in
            if isClosed && note.hasUnsavedChanges && !givesUp {
                guard isLost else { throw DocumentError(.missing, "the note is gone; ^S saves it again") }
                try await note.recreateFile()
            }
            try await note.close(savingChanges: !givesUp)
            inbox.yield(.over(problem: nil))
        }
    }

    private func draw() {
        keepInside()
        screen.draw(
            Array(note.lines[top...].prefix(screen.rows - 2)), status: status, hints: hints, row: row - top,
            before: Array(note.lines[row].prefix(column)))
    }

    private var status: String {
        let name = note.fileURL.lastPathComponent + (note.hasUnsavedChanges ? " *" : "")
        if let progress = note.progress { return " \(name): downloading, \(Int(progress.fractionCompleted * 100)) %" }
        if !isOpened { return " \(name): opening" }
        return " \(name)   \(note.documentState)   \(message.isEmpty ? note.lastError.map { "\($0)" } ?? "" : message)"
    }

    private var hints: String {
        if !isOpened { return " ^Q: leave it" }
        guard let other = note.unresolvedConflictVersions.first else { return " ^S: save   ^Q: save and quit" }
        let (mine, theirs) = other.isOwn ? ("mine", "theirs") : ("the copy beside it", "this one")
        return " Two versions. Keep ^K: \(mine)  ^T: \(theirs)  ^B: both   \(other.url.lastPathComponent)"
    }
}
