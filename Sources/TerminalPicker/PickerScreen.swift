import DocumentPicker
import Foundation
import Surroundings

/// The terminal's form of a view, and the meaning of keys: the position of the bar, the text being typed.
struct PickerScreen {
    private var view: PickerView?
    private(set) var needsDrawing = true
    private var selection = 0
    /// The first visible line of the list.
    private var top = 0
    /// The positions of the bar in the folders above.
    private var remembered: [[String]: Int] = [:]
    private var location: [String]?
    /// The search as it is typed, before the page shows it.
    private var search = ""
    private var searched = ContinuousClock.now

    /// A line that is being typed.
    private struct Prompt {
        enum Purpose { case makeFolder, putHere, password }
        var purpose: Purpose
        var label: String
        var text: String
    }
    private var prompt: Prompt?
    /// Whether the list of the folders above is shown.
    private var showsLocations = false
    /// Whether the list of keys is shown.
    private var showsKeys = false
    /// Why the last key did nothing.
    private var note: String?

    mutating func update(_ new: PickerView) {
        guard new != view else { return }
        needsDrawing = true
        let old = view
        view = new
        if new.screen == .signIn {
            if prompt?.purpose != .password {
                prompt = Prompt(purpose: .password, label: "Password of \(new.signIn?.domain ?? "")", text: "")
            }
        } else if prompt?.purpose == .password || new.screen != .page {
            prompt = nil
        }
        if new.screen != old?.screen { (showsLocations, showsKeys, note) = (false, false, nil) }
        if let page = new.page, new.screen == .page || new.screen == .progress || new.screen == .error {
            if page.location != location {
                if let location { remembered[location] = selection }
                location = page.location
                search = page.search
                selection = remembered[page.location] ?? 0
                top = 0
            } else if page.search != old?.page?.search {
                selection = 0
                top = 0
            }
        } else {
            if old?.screen != new.screen { selection = 0 }
            location = nil
        }
        selection = max(0, min(selection, lines.count - 1))
    }

    // MARK: The list

    private struct Line {
        var id: String
        var name: String
        var detail: [String] = []
        var isSelectable = true
        var isFolder = false
        var type: String?
    }

    private var lines: [Line] {
        guard let view else { return [] }
        if showsLocations {
            return ([view.title ?? ""] + (view.page?.location ?? [])).enumerated().map { index, name in
                Line(id: "\(index)", name: String(repeating: "  ", count: index) + name)
            }
        }
        if view.screen == .menu {
            return view.menu.map {
                Line(id: $0.id, name: $0.title, detail: [$0.detail ?? ""], isSelectable: $0.isSelectable)
            }
        }
        return (view.page?.entries ?? []).map { entry in
            let here = entry.note ?? entry.isHere.map { $0 ? "here" : "not here" } ?? ""
            return Line(
                id: entry.id, name: entry.isFolder ? entry.name + "/" : entry.name,
                detail: [
                    entry.size.map(Self.bytes) ?? "", entry.modified.map(Self.date) ?? "", here,
                ], isSelectable: entry.isSelectable || entry.isFolder, isFolder: entry.isFolder, type: entry.type)
        }
    }

    static func bytes(_ count: Int64) -> String {
        if count < 1_000 { return "\(count) B" }
        var value = Double(count) / 1_000
        for unit in ["kB", "MB", "GB"] {
            if value < 999.5 { return String(format: value < 9.95 ? "%.1f %@" : "%.0f %@", value, unit) }
            value /= 1_000
        }
        return String(format: "%.1f TB", value)
    }

    /// In the machine's time zone.
    static func date(_ seconds: Double) -> String {
        // An extension may give any number; show the years from 1 to 9999 only.
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return "" }
        var moment = time_t(seconds)
        var parts = tm()
        localtime_r(&moment, &parts)
        return String(
            format: "%04d-%02d-%02d %02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
            parts.tm_min)
    }

    // MARK: Drawing

    private static let listTop = 3

    mutating func draw(on terminal: Terminal) {
        guard let view else { return }
        needsDrawing = false
        let (rows, columns) = terminal.size
        terminal.erase()
        terminal.write(" " + heading(view), row: 0, column: 0, width: columns, .reverse, fills: true)
        if view.screen != .menu, let title = view.title {
            let path = ([title] + (view.page?.location ?? [])).joined(separator: " › ")
            terminal.write(" " + path, row: 1, column: 0, width: columns, .bold)
        }
        let height = max(0, rows - Self.listTop - 2)
        if showsKeys { drawKeys(terminal, height, columns) } else { drawList(terminal, height, columns) }
        drawStatus(terminal, view, row: rows - 2, columns)
        terminal.write(" " + help(view, columns), row: rows - 1, column: 0, width: columns, .reverse, fills: true)
        drawPrompt(terminal, row: rows - 2, columns)
        terminal.refresh()
    }

    private func heading(_ view: PickerView) -> String {
        switch view.mode {
        case .import: "Choose a document to copy"
        case .open: "Choose a document to open"
        case .export: "Choose where a copy goes"
        case .move: "Choose where the document goes"
        }
    }

    private mutating func drawList(_ terminal: Terminal, _ height: Int, _ columns: Int) {
        let lines = lines
        guard height > 0, let view else { return }
        if let page = view.page, view.screen != .menu, !showsLocations {
            if !search.isEmpty {
                terminal.write(" Search: \(search)", row: 2, column: 0, width: columns)
            }
            // The question for the password says why nothing is listed.
            if let message = page.message, view.screen != .signIn {
                terminal.write("  " + message, row: Self.listTop, column: 0, width: columns, .dim)
            } else if page.isLoading && lines.isEmpty {
                terminal.write("  …", row: Self.listTop, column: 0, width: columns, .dim)
            }
        }
        if selection < top { top = selection }
        if selection >= top + height { top = selection - height + 1 }
        top = max(0, min(top, lines.count - height))
        for (row, index) in (top..<min(lines.count, top + height)).enumerated() {
            draw(lines[index], isSelected: index == selection, terminal, row: Self.listTop + row, columns)
        }
    }

    /// The widths of the columns beside the name (size, date, here or not), as far as there is room.
    private static func widths(_ columns: Int) -> [Int] {
        switch columns {
        case 65...: [9, 18, 18]
        case 50...: [9, 0, 18]
        case 36...: [9, 0, 9]
        case 26...: [0, 0, 9]
        default: [0, 0, 0]
        }
    }

    private func draw(_ line: Line, isSelected: Bool, _ terminal: Terminal, row: Int, _ columns: Int) {
        let style: Terminal.Style = isSelected ? .reverse : line.isSelectable ? .plain : .dim
        // Marks a greyed line on terminals without colours.
        let mark = line.isSelectable ? "  " : "× "
        if line.detail.count == 3 {
            let widths = Self.widths(columns)
            var column = columns - widths.reduce(0, +)
            terminal.write(mark + line.name, row: row, column: 0, width: column, style, fills: true)
            let size = String(repeating: " ", count: max(0, 8 - Terminal.width(line.detail[0]))) + line.detail[0] + " "
            for (text, width) in zip([size, " " + line.detail[1], line.detail[2]], widths) {
                terminal.write(text, row: row, column: column, width: width, style, fills: true)
                column += width
            }
        } else {
            let detail = line.detail.first ?? ""
            let width = min(Terminal.width(detail) + 1, columns / 2)
            terminal.write(mark + line.name, row: row, column: 0, width: columns - width, style, fills: true)
            terminal.write(detail, row: row, column: columns - width, width: width, style, fills: true)
        }
    }

    private func drawStatus(_ terminal: Terminal, _ view: PickerView, row: Int, _ columns: Int) {
        if let note { return drawText(note, terminal, lastRow: row, columns) }
        switch view.screen {
        case .error: drawText(view.error ?? "", terminal, lastRow: row, columns)
        case .signIn:
            drawText(view.signIn?.reason ?? "The domain asks for a password.", terminal, lastRow: row - 1, columns)
        case .progress:
            guard let progress = view.progress else { return }
            let share = progress.total > 0 ? Double(progress.done) / Double(progress.total) : 0
            let width = 20
            let full = max(0, min(width, Int(Int64(bounding: share * Double(width)))))
            let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
            terminal.write(
                " \(progress.title)  [\(bar)] \(Self.bytes(progress.done)) of \(Self.bytes(progress.total))", row: row,
                column: 0, width: columns, .bold)
        default:
            if let name = view.page?.filename, view.screen == .page {
                terminal.write(" Its name will be: \(name)", row: row, column: 0, width: columns)
            }
        }
    }

    /// Draws text over the list, in as many lines as it needs.
    private func drawText(_ text: String, _ terminal: Terminal, lastRow: Int, _ columns: Int) {
        let lines = Terminal.wrap(text, columns - 2).suffix(max(1, lastRow - Self.listTop))
        for (index, line) in lines.enumerated() {
            terminal.write(
                " " + line, row: lastRow - lines.count + 1 + index, column: 0, width: columns, .bold, fills: true)
        }
    }

    private func drawPrompt(_ terminal: Terminal, row: Int, _ columns: Int) {
        guard let prompt else { return terminal.cursor(nil) }
        let shown = prompt.purpose == .password ? String(repeating: "*", count: prompt.text.count) : prompt.text
        let line = " \(prompt.label): \(shown)"
        terminal.write(line, row: row, column: 0, width: columns, .bold, fills: true)
        terminal.cursor((row, min(columns - 1, Terminal.width(line))))
    }

    private func help(_ view: PickerView, _ columns: Int) -> String {
        if prompt != nil { return "Enter: take it   Esc: back" }
        switch view.screen {
        case .error: return "Enter: go on   Esc: close"
        case .progress:
            return view.progress?.canCancel == true
                ? "c: cancel the download   Esc: close, it goes on" : "Esc: close, it goes on"
        default: break
        }
        if showsKeys { return "any key: back" }
        if showsLocations { return "Enter: go there   Esc: back" }
        return Self.fit(keys(view), columns - 1)
    }

    private struct Help {
        /// The form for a line of keys.
        var short: String
        var keys: String
        var long: String
        /// Entries with the lowest rank are left out first.
        var rank: Int
    }

    private func keys(_ view: PickerView) -> [Help] {
        let chooses = view.mode.choosesDocument
        if view.screen == .menu {
            return [
                Help(short: "Enter: choose", keys: "Enter", long: "go to this place", rank: 9),
                Help(short: "?: keys", keys: "?", long: "show this", rank: 8),
                Help(short: "Esc: close", keys: "Esc, ^C", long: "close the picker", rank: 9),
            ]
        }
        var keys = [
            Help(
                short: "Enter: \(chooses ? "choose" : "open")", keys: "Enter",
                long: chooses ? "choose the document, open the folder" : "open the folder", rank: 9)
        ]
        if view.page?.filename != nil {
            keys.append(Help(short: "^S: put it here", keys: "^S", long: "put it into this folder", rank: 9))
        }
        if view.page?.canMakeFolder == true {
            keys.append(Help(short: "^N: new folder", keys: "^N", long: "make a new folder here", rank: 5))
        }
        if !(view.page?.location.isEmpty ?? true) {
            keys.append(Help(short: "←: up", keys: "←, Backspace", long: "the folder above", rank: 7))
            keys.append(Help(short: "^L: where", keys: "^L", long: "all the folders above", rank: 3))
        }
        if view.hasOthers {
            keys.append(Help(short: "F2: other places", keys: "F2, ^P", long: "other places", rank: 4))
        }
        keys.append(
            search.isEmpty
                ? Help(short: "type: search", keys: "letters", long: "search in the names of this folder", rank: 2)
                : Help(short: "Esc: end the search", keys: "Esc", long: "end the search", rank: 9))
        if search.isEmpty {
            keys.append(Help(short: "?: keys", keys: "?", long: "show this", rank: 8))
            keys.append(Help(short: "Esc: close", keys: "Esc, ^C", long: "close the picker", rank: 9))
        }
        return keys
    }

    /// A line of as many keys as fit.
    private static func fit(_ keys: [Help], _ columns: Int) -> String {
        var keys = keys
        while true {
            let line = keys.map(\.short).joined(separator: "   ")
            guard Terminal.width(line) > columns, let least = keys.map(\.rank).min(), least < 9 else { return line }
            keys.remove(at: keys.firstIndex { $0.rank == least }!)
        }
    }

    private func drawKeys(_ terminal: Terminal, _ height: Int, _ columns: Int) {
        guard let view else { return }
        let moves = [
            Help(short: "", keys: "↑ ↓ PgUp PgDn", long: "move the bar", rank: 0),
            Help(short: "", keys: "Home End", long: "the first one, the last one", rank: 0),
        ]
        for (row, help) in (moves + keys(view)).prefix(height).enumerated() {
            terminal.write("  " + help.keys, row: Self.listTop + row, column: 0, width: min(16, columns), .bold)
            terminal.write(help.long, row: Self.listTop + row, column: 17, width: columns - 17)
        }
    }

    // MARK: Keys

    /// Whether a key must wait until the page shows the search's results, because it refers to these. Waits only
    /// briefly, because an extension need not search.
    func mustWait(_ key: Terminal.Key) -> Bool {
        guard let view, view.screen == .page, prompt == nil, let page = view.page, page.search != search,
            .now - searched < .seconds(1)
        else {
            return false
        }
        switch key {
        case .character, .backspace, .escape, .control: return false
        default: return true
        }
    }

    mutating func take(_ key: Terminal.Key) -> [PickerAction] {
        needsDrawing = true
        guard let view else { return key == .escape || key == .control("C") ? [.cancel] : [] }
        if key == .control("C") { return [.cancel] }
        note = nil
        if prompt != nil { return takeTyping(key) }
        if showsKeys {
            showsKeys = false
            return []
        }
        switch view.screen {
        case .error:
            if key == .escape { return [.cancel] }
            return key == .enter ? [.dismiss] : []
        case .progress:
            if key == .escape { return [.cancel] }
            return key == .character("c") && view.progress?.canCancel == true ? [.cancelTransfer] : []
        case .menu, .page: return takeInList(key, view)
        default: return []
        }
    }

    private mutating func takeInList(_ key: Terminal.Key, _ view: PickerView) -> [PickerAction] {
        let lines = lines
        func move(_ distance: Int) -> Int { max(0, min(selection + distance, lines.count - 1)) }
        switch key {
        case .up: selection = move(-1)
        case .down: selection = move(1)
        case .pageUp: selection = move(-10)
        case .pageDown: selection = move(10)
        case .home: selection = 0
        case .end: selection = max(0, lines.count - 1)
        case .enter: return choose(lines)
        case .right where !showsLocations && view.screen == .page:
            if selection < lines.count, lines[selection].isFolder { return choose(lines) }
        case .escape:
            if showsLocations {
                showsLocations = false
                selection = 0
                return []
            }
            if search.isEmpty { return [.cancel] }
            search = ""
            searched = .now
            return [.search("")]
        case .character("?") where search.isEmpty && !showsLocations: showsKeys = true
        case .f2 where view.hasOthers, .control("P") where view.hasOthers: return [.providers]
        default: return view.screen == .page && !showsLocations ? takeOnPage(key, view) : []
        }
        return []
    }

    private mutating func choose(_ lines: [Line]) -> [PickerAction] {
        guard selection < lines.count else { return [] }
        let line = lines[selection]
        if showsLocations {
            showsLocations = false
            search = ""
            return [.location(Int(line.id) ?? 0)]
        }
        if line.isFolder { search = "" }
        if line.isSelectable { return [.choose(line.id)] }
        // A greyed line cannot be chosen.
        note = reason(line)
        return []
    }

    private func reason(_ line: Line) -> String {
        guard let view else { return "" }
        if view.screen == .menu { return "“\(line.name)” cannot be chosen: \(line.detail.first ?? "")" }
        if !view.mode.choosesDocument {
            return "“\(line.name)” is a document; choose a folder, or put it here with ^S"
        }
        guard let type = line.type, !view.types.isEmpty else { return "“\(line.name)” cannot be chosen here" }
        return "“\(line.name)” is of the type \(type); wanted is \(view.types.joined(separator: " or "))"
    }

    private mutating func takeOnPage(_ key: Terminal.Key, _ view: PickerView) -> [PickerAction] {
        guard let page = view.page else { return [] }
        switch key {
        case .left: return [.up]
        case .backspace:
            if search.isEmpty { return [.up] }
            search.removeLast()
            searched = .now
            return [.search(search)]
        case .control("L"):
            showsLocations = true
            selection = page.location.count
        case .control("N") where page.canMakeFolder:
            prompt = Prompt(purpose: .makeFolder, label: "Name of the new folder", text: "")
        case .control("S"):
            guard let name = page.filename else { return [] }
            prompt = Prompt(purpose: .putHere, label: "Put it here as", text: name)
        case .character(let scalar):
            search.unicodeScalars.append(scalar)
            searched = .now
            return [.search(search)]
        default: break
        }
        return []
    }

    private mutating func takeTyping(_ key: Terminal.Key) -> [PickerAction] {
        guard var typed = prompt else { return [] }
        switch key {
        case .escape:
            prompt = nil
            return typed.purpose == .password ? [.cancel] : []
        case .enter:
            // Keep the prompt for a password, which may have to be entered again.
            prompt = typed.purpose == .password ? Prompt(purpose: .password, label: typed.label, text: "") : nil
            switch typed.purpose {
            case .makeFolder: return typed.text.isEmpty ? [] : [.makeFolder(typed.text)]
            case .putHere: return [.putHere(typed.text)]
            case .password: return [.signIn(typed.text)]
            }
        case .backspace: if !typed.text.isEmpty { typed.text.removeLast() }
        case .control("U"): typed.text = ""
        case .character(let scalar): typed.text.unicodeScalars.append(scalar)
        default: break
        }
        prompt = typed
        return []
    }
}
