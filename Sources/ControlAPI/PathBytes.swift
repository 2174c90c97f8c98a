import Foundation

/// A path as the bytes that the kernel uses; file names on Linux need not be UTF-8.
///
/// In JSON the bytes are base64, because JSON strings cannot carry them.
public struct PathBytes: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    public init(_ string: String) { self.bytes = Array(string.utf8) }

    /// For people: invalid UTF-8 is shown as U+FFFD.
    public var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension PathBytes: CustomStringConvertible {
    public var description: String { string }
}

extension PathBytes: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let data = Data(base64Encoded: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a path is not base64")
        }
        self.init(bytes: data)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes).base64EncodedString())
    }
}
