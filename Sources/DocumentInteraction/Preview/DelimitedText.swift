import Surroundings

/// A text of rows and columns: CSV (RFC 4180), or with another separator.
struct DelimitedText {
    static let (mostRows, mostColumns) = (1_000, 50)
    /// The largest width of a column on a terminal, and the largest number of characters in a cell.
    private static let (widest, longest) = (40, 1_000)

    private(set) var rows: [[String]] = []
    private(set) var hasMoreRows = false
    private(set) var hasMoreColumns = false

    /// - Parameters:
    ///   - separator: nil: the one of `,`, `;`, tab and `|` that is most frequent in the first line.
    ///   - isWhole: if false, leave out the last row, which may be cut.
    init(_ text: String, separator: Character? = nil, isWhole: Bool = true) {
        let separator = separator ?? Self.separator(text)
        var (row, cell, isQuoted, length) = ([String](), "", false, 0)
        func isFull() -> Bool { rows.count >= Self.mostRows }
        func endCell() {
            row.append(cell)
            (cell, length) = ("", 0)
        }
        func endRow() {
            endCell()
            if row != [""] { keep(row) }
            row = []
        }
        var rest = text[...]
        while let character = rest.popFirst() {
            if isFull() {
                hasMoreRows = rest.contains { !$0.isWhitespace } || !character.isWhitespace
                break
            }
            if isQuoted {
                if character != "\"" {
                    if length < Self.longest { cell.append(character) }
                    length += 1
                } else if rest.first == "\"" {
                    rest.removeFirst()
                    cell.append("\"")
                } else {
                    isQuoted = false
                }
            } else if character == separator {
                endCell()
            } else if character.isNewline {
                endRow()
            } else if character == "\"" && cell.isEmpty {
                isQuoted = true
            } else {
                if length < Self.longest { cell.append(character) }
                length += 1
            }
        }
        if !isFull(), isWhole, !cell.isEmpty || !row.isEmpty { endRow() }
    }

    private mutating func keep(_ row: [String]) {
        if row.count > Self.mostColumns { hasMoreColumns = true }
        rows.append(row.prefix(Self.mostColumns).map { ShownText.line($0) })
    }

    private static func separator(_ text: String) -> Character {
        let first = text.prefix(4_000).prefix { !$0.isNewline }
        let counts = [",", ";", "\t", "|"].map {
            (Character($0), first.split(separator: $0, omittingEmptySubsequences: false).count)
        }
        return counts.max { $0.1 < $1.1 }?.0 ?? ","
    }

    /// Lines with aligned columns, and a rule below the first row.
    var lines: [String] {
        let count = rows.map(\.count).max() ?? 0
        var widths = [Int](repeating: 1, count: count)
        for row in rows {
            for (column, cell) in row.enumerated() {
                widths[column] = max(widths[column], min(Self.widest, TextWidth.columns(of: cell)))
            }
        }
        func line(_ row: [String]) -> String {
            let cells = (0..<count).map { TextWidth.fitted($0 < row.count ? row[$0] : "", widths[$0]) }
            return String(cells.joined(separator: " │ ").reversed().drop { $0 == " " }.reversed())
        }
        guard let head = rows.first else { return ["(there are no rows)"] }
        let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "─┼─")
        return [line(head), rule] + rows.dropFirst().map(line)
    }
}
