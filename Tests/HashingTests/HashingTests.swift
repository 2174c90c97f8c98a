import FileProviderTesting
import Hashing
import Testing

@Suite struct HashingTests {
    private let bytes = [UInt8](unsafeUninitializedCapacity: 3 << 20) { buffer, count in
        while count < buffer.count { buffer[count] = UInt8(truncatingIfNeeded: count &* 31); count += 1 }
    }
    private var digest: [UInt8] { Array(SHA256.hash(data: bytes)) }

    @Test func whatIsReadPieceByPiece() throws {
        let read = { (offset: Int64, count: Int) in Array(bytes.dropFirst(Int(offset)).prefix(count)) }
        #expect(SHA256.hash(first: Int64(bytes.count), read).map { Array($0) } == digest)
        #expect(SHA256.hash(first: Int64(bytes.count) + 1, read) == nil)
        #expect(SHA256.hash(first: 0, read).map { Array($0) } == Array(SHA256.hash(data: [UInt8]())))
    }

    @Test func whatIsToBeSent() async throws {
        let source = BytesSource(bytes)
        #expect(try await source.digest(SHA256.self, first: source.size).map { Array($0) } == digest)
        let first = try await source.digest(Insecure.SHA1.self, first: 5)
        #expect(first.map { Array($0) } == Array(Insecure.SHA1.hash(data: bytes[..<5])))
        #expect(try await source.digest(SHA256.self, first: source.size + 1) == nil)
    }

    @Test func whatIsDownloadedInOrder() async throws {
        let sink = HashingSink()
        try await sink.write(Array(bytes[..<100]), at: 0)
        #expect(sink.digest(size: Int64(bytes.count)) == nil)
        try await sink.write(Array(bytes[100...]), at: 100)
        #expect(sink.digest(size: Int64(bytes.count)) == digest)
        try await sink.write([1], at: 7)
        #expect(sink.digest(size: Int64(bytes.count)) == nil)
    }
}
