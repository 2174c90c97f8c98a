import Testing

@testable import FUSE

/// Layouts as in linux/fuse.h, protocol 7.33 and later.
@Suite("libfuse's private request data")
struct CurrentRequestTests {
    /// Header (40 bytes), then `body` words.
    private func asks(_ opcode: UInt8, _ body: [UInt32]) -> Bool? {
        var bytes = [UInt8](repeating: 0, count: 40)
        bytes[4] = opcode
        bytes += body.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        return bytes.withUnsafeBytes { FUSECurrentRequest.asksToKillPrivileges($0) }
    }

    @Test func theOneBitOfEach() {
        // All other bits of the word, and all other words, say nothing of it.
        for (opcode, index, words, bit) in [(16, 5, 10, 2), (14, 1, 2, 0), (35, 3, 4, 0), (4, 0, 22, 11)] {
            for word in 0..<words {
                for other in 0..<32 {
                    var body = [UInt32](repeating: 0, count: words)
                    body[word] = 1 << other
                    #expect(asks(UInt8(opcode), body) == (word == index && other == bit))
                }
            }
        }
    }

    @Test func noneOfTheFour() {
        for opcode: UInt8 in [1, 3, 15, 18, 21, 25, 26, 36] {
            #expect(asks(opcode, [UInt32](repeating: .max, count: 22)) == nil)
        }
        #expect(asks(16, [0, 0, 0, 0, 0]) == false, "cut short")
        #expect(
            [UInt8](repeating: 16, count: 20).withUnsafeBytes { FUSECurrentRequest.asksToKillPrivileges($0) } == nil)
    }
}
