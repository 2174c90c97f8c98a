import FileProvider

/// A part of a name that some servers misread: as the end of the path (`;`, `?`), as an encoding (`%`, `+`), or that a
/// Windows server drops (a full stop at the end).
enum NamePart: Hashable, Comparable {
    case byte(UInt8)
    case lastStop, lastSpace

    /// In the order of the tests.
    static func all(in name: [UInt8]) -> [NamePart] {
        var parts = Set(name.filter { $0 < 32 || $0 == 127 || "?#;%+\\:".utf8.contains($0) }.map { NamePart.byte($0) })
        if name.last == UInt8(ascii: ".") { parts.insert(.lastStop) }
        if name.last == UInt8(ascii: " ") { parts.insert(.lastSpace) }
        return parts.sorted()
    }

    /// A name that has this part, and no other.
    func name(after stem: String) -> [UInt8] {
        switch self {
        // (With digits behind it, as `%41` may be decoded twice; and at the end, as some servers drop more there.)
        case .byte(let byte): Array(stem.utf8) + [byte] + Array("41".utf8) + [byte]
        case .lastStop: Array(stem.utf8) + [UInt8(ascii: ".")]
        case .lastSpace: Array(stem.utf8) + [UInt8(ascii: " ")]
        }
    }

    /// The names that servers may make of it.
    func alterations(after stem: String) -> [[UInt8]] {
        switch self {
        case .byte(let byte):
            ["", "41", "A\(Character(UnicodeScalar(byte)))", " 41 ", "\(Character(UnicodeScalar(byte)))41"].map {
                Array((stem + $0).utf8)
            }
        case .lastStop, .lastSpace: [Array(stem.utf8)]
        }
    }

    /// For people.
    var text: String {
        switch self {
        case .byte(let byte) where byte < 32 || byte == 127: "a control character"
        case .byte(let byte): "“\(Character(UnicodeScalar(byte)))”"
        case .lastStop: "a full stop at the end"
        case .lastSpace: "a space at the end"
        }
    }

    /// Whether the server has answered for an altered name.
    static func isAltered(_ asked: [UInt8], _ answered: [UInt8]) -> Bool {
        answered.count < asked.count && !all(in: asked).isEmpty
    }
}
