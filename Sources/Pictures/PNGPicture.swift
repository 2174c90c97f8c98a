import CPictures
package import Foundation

/// A PNG file (RFC 2083) to which texts can be added without changing the picture.
package struct PNGPicture: Sendable {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private struct Chunk: Sendable {
        var type: [UInt8]
        var data: ArraySlice<UInt8>
    }
    private var chunks: [Chunk] = []
    package let width: Int
    package let height: Int

    /// Whether it starts as a PNG file, complete or not.
    static func begins(_ data: Data) -> Bool { data.starts(with: signature) }

    /// Nil unless it is a complete PNG file.
    package init?(_ data: Data) {
        let bytes = Array(data)
        guard bytes.starts(with: Self.signature) else { return nil }
        var offset = Self.signature.count
        while offset < bytes.count {
            guard bytes.count - offset >= 12 else { return nil }
            let length = Self.number(bytes[offset..<offset + 4])
            guard length <= bytes.count - offset - 12 else { return nil }
            let type = Array(bytes[offset + 4..<offset + 8])
            let content = bytes[offset + 8..<offset + 8 + length]
            guard Self.number(bytes[offset + 8 + length..<offset + 12 + length]) == Int(Self.checksum(type, content))
            else { return nil }
            chunks.append(Chunk(type: type, data: content))
            offset += 12 + length
        }
        guard let header = chunks.first, header.type == Array("IHDR".utf8), header.data.count == 13,
            chunks.last?.type == Array("IEND".utf8)
        else { return nil }
        width = Self.number(header.data.prefix(4))
        height = Self.number(header.data.dropFirst(4).prefix(4))
    }

    /// The file with these texts (tEXt, Latin 1), which replace those of the same names.
    package func data(with texts: [(key: String, value: String)]) -> Data {
        var all = chunks.filter { chunk in
            chunk.type != Array("tEXt".utf8) || !texts.contains { chunk.data.starts(with: Array($0.key.utf8) + [0]) }
        }
        let added = texts.map {
            Chunk(type: Array("tEXt".utf8), data: (Array($0.key.utf8) + [0] + Array($0.value.utf8))[...])
        }
        all.insert(contentsOf: added, at: 1)
        var bytes = Self.signature
        for chunk in all {
            bytes += Self.bytes(UInt32(chunk.data.count)) + chunk.type + chunk.data
            bytes += Self.bytes(Self.checksum(chunk.type, chunk.data))
        }
        return Data(bytes)
    }

    /// The text (tEXt) of this name; nil: none.
    package func text(_ key: String) -> String? {
        let prefix = Array(key.utf8) + [0]
        return chunks.first { $0.type == Array("tEXt".utf8) && $0.data.starts(with: prefix) }
            .map { String(decoding: $0.data.dropFirst(prefix.count), as: UTF8.self) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    private static func checksum(_ type: [UInt8], _ data: ArraySlice<UInt8>) -> UInt32 {
        data.withUnsafeBufferPointer { cpictures_checksum(type, type.count, $0.baseAddress, $0.count) }
    }
}
