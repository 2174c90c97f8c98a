import Foundation
import NIOCore

/// JSON to and from the bytes of a ``Frame``.
enum ControlCoding {
    static func encode(_ message: some Encodable) throws -> Data {
        try JSONEncoder().encode(message)
    }

    static func decode<Message: Decodable>(_: Message.Type, from buffer: ByteBuffer) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(buffer.readableBytesView))
    }

    /// The frame that answers a request; never larger than the client accepts.
    static func responseFrame(_ response: ControlResponse) -> ByteBuffer {
        do {
            let json = try encode(response)
            if json.count <= ControlLimits.responseBytes { return Frame.encode(json) }
            return failureFrame(
                ControlFailure.responseTooLarge,
                "the answer has \(json.count) bytes, more than fit into one message; ask for fewer paths")
        } catch {
            return failureFrame(ControlFailure.internalError, "the daemon could not encode its answer: \(error)")
        }
    }

    private static func failureFrame(_ code: String, _ message: String) -> ByteBuffer {
        let failure = ControlResponse.failure(ControlFailure(code: code, message: message))
        // Encoding two strings cannot fail.
        return Frame.encode((try? encode(failure)) ?? Data())
    }
}
