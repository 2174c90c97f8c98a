import Testing

@testable import FUSE

@Suite("The answer to INIT")
struct InitRewritingTests {
    /// As Linux 6.18 says hello.
    private func request(
        minor: UInt32 = 45, flags: UInt32 = 0x73ff_fffb, flags2: UInt32 = 0x0000_01fd, opcode: UInt32 = 26
    )
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: 104)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: 104, toByteOffset: 0, as: UInt32.self)
            $0.storeBytes(of: opcode, toByteOffset: 4, as: UInt32.self)
            $0.storeBytes(of: 2, toByteOffset: 8, as: UInt64.self)
            $0.storeBytes(of: 7, toByteOffset: 40, as: UInt32.self)
            $0.storeBytes(of: minor, toByteOffset: 44, as: UInt32.self)
            $0.storeBytes(of: 131072, toByteOffset: 48, as: UInt32.self)
            $0.storeBytes(of: flags, toByteOffset: 52, as: UInt32.self)
            $0.storeBytes(of: flags2, toByteOffset: 56, as: UInt32.self)
        }
        return bytes
    }

    /// As libfuse 3.14 answers.
    private func reply(unique: UInt64 = 2, error: Int32 = 0, flags: UInt32 = 0x4242_6069) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 80)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: 80, toByteOffset: 0, as: UInt32.self)
            $0.storeBytes(of: error, toByteOffset: 4, as: Int32.self)
            $0.storeBytes(of: unique, toByteOffset: 8, as: UInt64.self)
            $0.storeBytes(of: 7, toByteOffset: 16, as: UInt32.self)
            $0.storeBytes(of: 38, toByteOffset: 20, as: UInt32.self)
            $0.storeBytes(of: flags, toByteOffset: 28, as: UInt32.self)
            $0.storeBytes(of: 1024, toByteOffset: 32, as: UInt16.self)
            $0.storeBytes(of: 1 << 20, toByteOffset: 36, as: UInt32.self)
        }
        return bytes
    }

    private func rewritten(_ reply: [UInt8], for request: [UInt8]) -> [UInt8]? {
        guard let offer = request.withUnsafeBytes({ FUSEInitOffer(request: $0) }) else { return nil }
        var reply = reply
        let isChanged = reply.withUnsafeMutableBytes { offer.requestPassthrough(in: $0) }
        return isChanged ? reply : nil
    }

    @Test func readsTheOffer() throws {
        let offer = try #require(request().withUnsafeBytes { FUSEInitOffer(request: $0) })
        #expect(offer.unique == 2)
        #expect(offer.minor == 45)
        #expect(offer.flags == 0x0000_01fd_73ff_fffb)
        #expect(offer.offersPassthrough)
    }

    @Test func changesFourFieldsAndNothingElse() throws {
        let before = reply()
        let after = try #require(rewritten(before, for: request()))
        func word(_ offset: Int) -> UInt32 {
            after.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        }
        #expect(word(20) == 40)
        #expect(word(28) == 0x4242_6069 | 1 << 30)
        #expect(word(48) == 1 << 5)
        #expect(word(52) == 1)
        let changed = Set([20, 28, 48, 52].flatMap { $0..<($0 + 4) })
        for offset in before.indices where !changed.contains(offset) { #expect(before[offset] == after[offset]) }
    }

    @Test func killPrivilegesIsOneBit() throws {
        func rewritten(_ reply: [UInt8], for request: [UInt8]) -> [UInt8]? {
            guard let offer = request.withUnsafeBytes({ FUSEInitOffer(request: $0) }) else { return nil }
            var reply = reply
            let isChanged = reply.withUnsafeMutableBytes { offer.requestKillPrivileges(in: $0) }
            return isChanged ? reply : nil
        }
        let before = reply()
        let after = try #require(rewritten(before, for: request()))
        #expect(after[31] == before[31] | 1 << 4)
        for offset in before.indices where offset != 31 { #expect(before[offset] == after[offset]) }
        // Neither needs the other.
        #expect(rewritten(before, for: request(minor: 33, flags: 1 << 28)) != nil)
        #expect(rewritten(before, for: request(flags: 0x63ff_fffb)) == nil, "not offered")
        #expect(rewritten(reply(unique: 4), for: request()) == nil, "another request's")
        #expect(rewritten(reply(error: -71), for: request()) == nil, "an error")
    }

    @Test func parallelDirectoriesAreOneBit() throws {
        func rewritten(_ reply: [UInt8], for request: [UInt8]) throws -> [UInt8] {
            let offer = try #require(request.withUnsafeBytes { FUSEInitOffer(request: $0) })
            var reply = reply
            reply.withUnsafeMutableBytes { offer.requestParallelDirectories(in: $0) }
            return reply
        }
        let before = reply(flags: 0x52c0_e038)
        let after = try rewritten(before, for: request(minor: 31))
        #expect(after[30] == before[30] | 1 << 2)
        for offset in before.indices where offset != 30 { #expect(before[offset] == after[offset]) }
        #expect(try rewritten(before, for: request(flags: 0x73fb_fffb)) == before, "not offered")
        #expect(try rewritten(reply(unique: 4), for: request()) == reply(unique: 4), "another request's")
        #expect(try rewritten(reply(error: -71), for: request()) == reply(error: -71), "an error")
    }

    @Test func mappingOfDirectIOIsTwoBits() throws {
        func rewritten(_ reply: [UInt8], for request: [UInt8]) throws -> [UInt8] {
            let offer = try #require(request.withUnsafeBytes { FUSEInitOffer(request: $0) })
            var reply = reply
            reply.withUnsafeMutableBytes { offer.requestDirectIOMapping(in: $0) }
            return reply
        }
        let before = reply()
        let after = try rewritten(before, for: request())
        #expect(after[31] == before[31] | 1 << 6, "FUSE_INIT_EXT")
        #expect(after[48] == 1 << 4, "FUSE_DIRECT_IO_ALLOW_MMAP")
        for offset in before.indices where ![31, 48].contains(offset) { #expect(before[offset] == after[offset]) }
        #expect(try rewritten(before, for: request(flags2: 0x0000_01ed)) == before, "not offered")
        #expect(try rewritten(before, for: request(flags: 0x33ff_fffb)) == before, "no second word of flags")
        #expect(try rewritten(reply(error: -71), for: request()) == reply(error: -71), "an error")
    }

    @Test func leavesAloneWhatTheKernelDidNotOffer() {
        #expect(rewritten(reply(), for: request(minor: 39)) == nil)
        #expect(rewritten(reply(), for: request(flags: 0x33ff_fffb)) == nil, "without FUSE_INIT_EXT")
        #expect(rewritten(reply(), for: request(flags2: 0x1dd)) == nil, "without FUSE_PASSTHROUGH")
    }

    @Test func leavesAloneWhatIsNoAnswerToIt() {
        #expect(rewritten(reply(unique: 4), for: request()) == nil, "another request's")
        #expect(rewritten(reply(error: -71), for: request()) == nil, "an error")
        #expect(rewritten(Array(reply().prefix(40)), for: request()) == nil, "short")
        #expect(rewritten(reply(flags: 1 << 16), for: request()) == nil, "with the writeback cache")
        #expect(rewritten(reply(), for: request(opcode: 1)) == nil, "no INIT")
        #expect(rewritten(reply(), for: Array(request().prefix(48))) == nil, "a short INIT")
    }

    @Test func timesAreSplitLikeLibfuseDoes() {
        #expect(split(seconds: 1.5) == (1, 500_000_000))
        #expect(split(seconds: -1) == (0, 0))
        #expect(split(seconds: .infinity) == (.max, 999_999_999))
        #expect(split(seconds: .nan) == (0, 0))
    }
}
