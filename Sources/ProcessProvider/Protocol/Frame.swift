/// One frame of the provider protocol: a 4-byte big-endian length of all that follows, one byte for the kind, and the
/// payload.
package enum Frame: Hashable, Sendable {
    /// A message in JSON (UTF-8).
    case json([UInt8])
    /// Bytes of a document that answer a request: 8 bytes for its number, 8 for the offset in the document, and the
    /// bytes; numbers are big-endian.
    case bytes(request: UInt64, offset: Int64, [UInt8])

    /// The largest message, in bytes.
    package static let mostJSON = 1 << 20
    /// The most bytes of a document in one frame.
    package static let mostBytes = 256 << 10
    static let bytesHeader = 16

    fileprivate enum Kind {
        static let json: UInt8 = 1
        static let bytes: UInt8 = 2
    }

    /// The frame as it is sent.
    package var encoded: [UInt8] {
        var result: [UInt8] = []
        switch self {
        case .json(let text):
            result.reserveCapacity(5 + text.count)
            result.append(number: UInt32(text.count + 1))
            result.append(Kind.json)
            result += text
        case .bytes(let request, let offset, let bytes):
            result.reserveCapacity(5 + Self.bytesHeader + bytes.count)
            result.append(number: UInt32(bytes.count + Self.bytesHeader + 1))
            result.append(Kind.bytes)
            result.append(number: request)
            result.append(number: offset)
            result += bytes
        }
        return result
    }
}

extension [UInt8] {
    fileprivate mutating func append(number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

/// Cuts a stream of bytes into frames. It keeps at most one incomplete frame and what was appended last, and is of no
/// use after an error.
package struct FrameParser: Sendable {
    package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
        /// The announced length, with the kind if that has arrived.
        case tooLong(length: UInt32, kind: UInt8?)
        case empty
        case unknownKind(UInt8)
        /// A frame of bytes without a whole header, or without bytes.
        case tooShort(length: UInt32)
        case negativeOffset

        package var description: String {
            switch self {
            case .tooLong(let length, _): "a frame of \(length) bytes is longer than the protocol allows"
            case .empty: "a frame is empty"
            case .unknownKind(let kind): "a frame has the unknown kind \(kind)"
            case .tooShort(let length): "a frame of bytes has \(length) bytes only, with its header"
            case .negativeOffset: "a frame of bytes has an offset beyond 2^63"
            }
        }
    }

    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The number of bytes that belong to no frame yet.
    package var rest: Int { buffer.count - start }

    /// The next frame; nil: it has not arrived yet.
    package mutating func next() throws(Fault) -> Frame? {
        guard rest >= 4 else { return nil }
        let length = number(at: 0, as: UInt32.self)
        guard length > 0 else { throw .empty }
        let longest = UInt32(max(Frame.mostJSON, Frame.mostBytes + Frame.bytesHeader) + 1)
        guard rest >= 5 else {
            // Refused before its bytes are waited for.
            if length > longest { throw .tooLong(length: length, kind: nil) }
            return nil
        }
        let kind = buffer[start + 4]
        let most: Int
        switch kind {
        case Frame.Kind.json: most = Frame.mostJSON
        case Frame.Kind.bytes: most = Frame.mostBytes + Frame.bytesHeader
        default: throw .unknownKind(kind)
        }
        guard length - 1 <= UInt32(most) else { throw .tooLong(length: length, kind: kind) }
        guard rest >= 4 + Int(length) else { return nil }
        let end = start + 4 + Int(length)
        defer { start = end }
        if kind == Frame.Kind.json { return .json(Array(buffer[(start + 5)..<end])) }
        guard length > Frame.bytesHeader + 1 else { throw .tooShort(length: length) }
        let request = number(at: 5, as: UInt64.self)
        let offset = number(at: 13, as: Int64.self)
        guard offset >= 0 else { throw .negativeOffset }
        return .bytes(request: request, offset: offset, Array(buffer[(start + 5 + Frame.bytesHeader)..<end]))
    }

    private func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        buffer.withUnsafeBytes { raw in
            Number(bigEndian: raw.loadUnaligned(fromByteOffset: start + offset, as: Number.self))
        }
    }
}
