/// Describes errors in JSON that people or their programs wrote.
extension DecodingError {
    /// One line, without Swift's names of types.
    package var words: String {
        switch self {
        case .keyNotFound(let key, let context): "“\(Self.place(context.codingPath + [key]))” is missing"
        case .valueNotFound(_, let context): "“\(Self.place(context.codingPath))” is null"
        case .typeMismatch(let type, let context):
            context.codingPath.isEmpty
                ? "it is not \(Self.name(type))" : "“\(Self.place(context.codingPath))” is not \(Self.name(type))"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty
                ? "it is not JSON" : "“\(Self.place(context.codingPath))” has a value that is not known"
        @unknown default: "it is not what was expected"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }

    private static func name(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: "text"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type, is any BinaryFloatingPoint.Type: "a number in range"
        case is any Collection.Type where !(type is any ExpressibleByDictionaryLiteral.Type): "an array"
        default: "an object"
        }
    }
}
