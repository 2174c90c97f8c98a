import Foundation

/// An annotation that a program sends to the program that opens its document: any JSON value.
///
/// Source: Apple, `UIDocumentInteractionController.annotation`, a property list.
public enum AnnotationValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// Any number.
    case number(Double)
    /// A text.
    case string(String)
    /// Several values.
    case array([AnnotationValue])
    /// Values by name.
    case object([String: AnnotationValue])

    /// From JSON (RFC 8259).
    ///
    /// - Throws: ``DocumentInteractionError`` when the text is not JSON.
    public init(json text: String) throws {
        do { self = try JSONDecoder().decode(AnnotationValue.self, from: Data(text.utf8)) } catch {
            throw DocumentInteractionError(.failed, "the annotation is not JSON")
        }
    }

    /// JSON on one line, with sorted names.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}

extension AnnotationValue: Codable {
    /// From its JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([AnnotationValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: AnnotationValue].self))
        }
    }

    /// As its JSON.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            // Write 1, not 1.0.
            if let whole = Int64(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension AnnotationValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// ``string(_:)``.
    public init(stringLiteral value: String) { self = .string(value) }
    /// ``bool(_:)``.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// ``number(_:)``.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// ``number(_:)``.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    /// ``array(_:)``.
    public init(arrayLiteral elements: AnnotationValue...) { self = .array(elements) }
    /// ``object(_:)``; the last value of a repeated name counts.
    public init(dictionaryLiteral elements: (String, AnnotationValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
    /// ``null``.
    public init(nilLiteral: ()) { self = .null }
}
