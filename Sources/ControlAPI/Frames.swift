import NIOCore

/// The messages on the socket: a 4-byte big-endian length, then that many bytes of JSON.
enum Frame: Sendable {
    case message(ByteBuffer)
    /// The other side announced more bytes than allowed; reading stops there.
    case tooLong(Int)
    /// The other side hung up within a message, after this many bytes.
    case truncated(Int)

    /// `json` with its length in front.
    static func encode(_ json: some Collection<UInt8>) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(4 + json.count)
        buffer.writeInteger(UInt32(json.count))
        buffer.writeBytes(json)
        return buffer
    }
}

/// Cuts the stream into ``Frame``s. Faults are frames too, not errors, so that they keep their place in the order of
/// messages and can be answered.
struct FrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = Frame

    let limit: Int
    private var isBroken = false

    init(limit: Int) { self.limit = limit }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
        if isBroken {
            buffer.moveReaderIndex(to: buffer.writerIndex)
            return .needMoreData
        }
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self).map(Int.init) else {
            return .needMoreData
        }
        guard length <= limit else {
            isBroken = true
            context.fireChannelRead(wrapInboundOut(.tooLong(length)))
            return .continue
        }
        guard buffer.readableBytes >= 4 + length else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: 4)
        let message = buffer.readSlice(length: length) ?? ByteBuffer()
        context.fireChannelRead(wrapInboundOut(.message(message)))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) -> DecodingState {
        while buffer.readableBytes > 0 {
            if decode(context: context, buffer: &buffer) == .needMoreData { break }
        }
        if !isBroken, buffer.readableBytes > 0 {
            isBroken = true
            context.fireChannelRead(wrapInboundOut(.truncated(buffer.readableBytes)))
        }
        buffer.moveReaderIndex(to: buffer.writerIndex)
        return .needMoreData
    }
}
