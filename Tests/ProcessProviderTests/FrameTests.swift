import FileProvider
import Foundation
import ProcessProvider
import Testing

/// The frames and messages of the provider protocol, as they come from a program that is not trusted.
@Suite("Frames of the provider protocol")
struct FrameTests {
    private static let samples: [Frame] = [
        .json(Array("{}".utf8)), .json([]), .json([UInt8](repeating: 0x20, count: Frame.mostJSON)),
        .bytes(request: 7, offset: 1 << 40, [1, 2, 3]), .bytes(request: .max, offset: 0, [4]),
        .bytes(request: 0, offset: .max, [UInt8](repeating: 9, count: Frame.mostBytes)),
    ]

    private static func parse(_ stream: [UInt8], pieces: () -> Int) throws(FrameParser.Fault) -> [Frame] {
        var (parser, frames, rest) = (FrameParser(), [Frame](), stream[...])
        while !rest.isEmpty {
            let count = min(rest.count, max(1, pieces()))
            parser.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            while let frame = try parser.next() { frames.append(frame) }
        }
        guard parser.rest == 0 else { return [] }
        return frames
    }

    @Test("what is written is read, in pieces of any size", arguments: [1, 4, 5, 21, 4_096, 10_000_000])
    func roundTrip(_ piece: Int) throws {
        // (Byte by byte only the small ones.)
        let frames = piece < 100 ? Self.samples.filter { $0.encoded.count < 1_000 } : Self.samples
        let parsed = try Self.parse(frames.flatMap(\.encoded)) { piece }
        #expect(parsed == frames)
    }

    @Test("a frame that the protocol does not allow is refused before its bytes are waited for")
    func refused() throws {
        func fault(_ bytes: [UInt8]) -> FrameParser.Fault? {
            var parser = FrameParser()
            parser.append(bytes)
            do { _ = try parser.next() } catch { return error }
            return nil
        }
        #expect(fault([0, 0, 0, 0]) == .empty)
        #expect(fault([0xff, 0xff, 0xff, 0xff]) == .tooLong(length: .max, kind: nil))
        // One byte more than the largest message, and than the most bytes.
        #expect(fault([0, 0x10, 0, 2, 1]) == .tooLong(length: 0x10_0002, kind: 1))
        #expect(fault([0, 0x10, 0, 1, 1]) == nil)
        #expect(fault([0, 0x04, 0, 0x12, 2]) == .tooLong(length: 0x4_0012, kind: 2))
        #expect(fault([0, 0x04, 0, 0x11, 2]) == nil)
        #expect(fault([0, 0, 0, 3, 9, 0, 0]) == .unknownKind(9))
        #expect(fault([0, 0, 0, 3, 2, 0, 0]) == .tooShort(length: 3))
        // A header alone would cost no credit.
        #expect(fault([0, 0, 0, 17, 2] + [UInt8](repeating: 0, count: 16)) == .tooShort(length: 17))
        #expect(
            fault([0, 0, 0, 18, 2] + [UInt8](repeating: 0, count: 8) + [0x80] + [UInt8](repeating: 0, count: 8))
                == .negativeOffset)
        // A program that prints to its standard output.
        #expect(fault(Array("Welcome!".utf8)) == .unknownKind(0x6f))
    }

    /// The fuzzer: mutations of real streams, for `HYDRANT_FUZZ_SECONDS` (default: half a second), with the seed
    /// `HYDRANT_FUZZ_SEED`.
    @Test("no stream of bytes makes the parser trap, keep more than it should, or turn round")
    func fuzz() throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["HYDRANT_FUZZ_SECONDS"].flatMap(Double.init) ?? 0.5
        let seed = environment["HYDRANT_FUZZ_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed)
        let deadline = ContinuousClock.now + .seconds(seconds)
        var (streams, faults, read) = (0, 0, 0)
        while ContinuousClock.now < deadline {
            var stream = Self.seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 0...6, using: &random) { Self.mutate(&stream, &random) }
            var parser = FrameParser()
            var rest = stream[...]
            streams += 1
            feeding: while !rest.isEmpty {
                let count = min(rest.count, Int.random(in: 1...200, using: &random))
                parser.append(rest.prefix(count))
                rest = rest.dropFirst(count)
                do {
                    while let frame = try parser.next() {
                        read += 1
                        Self.understand(frame, seed)
                    }
                } catch {
                    faults += 1
                    break feeding
                }
                #expect(parser.rest <= Frame.mostJSON + 5 + 200, "seed \(seed)")
            }
        }
        // It has seen both.
        #expect(streams > 10 && faults > 0 && read > 0, "seed \(seed): \(streams) streams")
    }

    /// Everything that is done with a frame from outside: every message is read as every method's parameters and result.
    private static func understand(_ frame: Frame, _ seed: UInt64) {
        guard case .json(let json) = frame else { return }
        guard let envelope = try? Envelope(json) else { return }
        _ = envelope.kind
        func read<Value: Codable>(_ type: Value.Type) {
            // What can be read can be written, and is the same then.
            guard let value = Connection.params(type, json) else { return }
            #expect((try? JSONEncoder().encode(value)) != nil, "seed \(seed)")
        }
        read(Message.Hello.self)
        read(Message.Abilities.self)
        read(Message.Items.self)
        read(Message.Changes.self)
        read(Message.Findings.self)
        read(Message.ReadContents.self)
        read(Message.WritePlaceholder.self)
        read(Message.Changed.self)
        read(Message.Credit.self)
        if let items = Connection.params(Message.Items.self, json) { _ = items.value }
        if let changes = Connection.params(Message.Changes.self, json) { _ = try? changes.value() }
        if let findings = Connection.params(Message.Findings.self, json) { _ = findings.value }
    }

    private static func mutate(_ stream: inout [UInt8], _ random: inout SeededRandom) {
        guard !stream.isEmpty else { return }
        let place = stream.indices.randomElement(using: &random)!
        switch Int.random(in: 0..<7, using: &random) {
        case 0: stream[place] = UInt8.random(in: 0 ... .max, using: &random)
        case 1: stream[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: stream.removeSubrange(place..<min(stream.count, place + Int.random(in: 1...40, using: &random)))
        case 3: stream.insert(contentsOf: tokens.randomElement(using: &random)!.utf8, at: place)
        case 4:
            let other = seeds.randomElement(using: &random)!
            stream.insert(contentsOf: other.prefix(Int.random(in: 0...other.count, using: &random)), at: place)
        case 5: stream.append(contentsOf: stream[place...])
        default:
            stream.replaceSubrange(
                0..<min(4, stream.count), with: [0, 0, UInt8.random(in: 0...3, using: &random), stream[place]])
        }
    }

    private static let tokens = [
        "9223372036854775807", "-9223372036854775809", "1e400", "null", "\"\\ud800\"", "{\"base64\":\"!\"}", "[[[[[[",
        "\"seconds\":", "true", "\\u0000", "\u{feff}", "18446744073709551616", "-1", "0.5",
    ]

    /// Streams that a program could send.
    private static let seeds: [[UInt8]] = {
        let item =
            #"{"identifier":"1","parent":"NSFileProviderRootContainerItemIdentifier","filename":{"base64":"/w=="},"kind":"symbolicLink","target":"x","contentModificationDate":{"seconds":1,"nanoseconds":999999999},"posixPermissions":420,"version":{"content":"a","metadata":"b"},"extendedAttributes":{"user.a":{"base64":"AAE="}},"capabilities":["reading"]}"#
        let messages = [
            #"{"method":"hello","params":{"versions":[1,2]}}"#,
            #"{"id":1,"result":{"version":1,"providerIdentifier":"org.example","abilities":["Trashing"]}}"#,
            #"{"id":3,"method":"x","params":{"items":[\#(item),\#(item)],"nextPage":"p","leftOut":[{"filename":"a","reason":"b"}]}}"#,
            #"{"id":4,"method":"x","params":{"updated":[\#(item)],"deleted":["2"],"anchor":"z","hasMore":true}}"#,
            #"{"id":5,"method":"x","params":{"findings":[{"path":["a",{"base64":"/w=="}],"kind":"document","size":3,"contentModificationDate":{"seconds":-1}}],"isComplete":true}}"#,
            #"{"id":6,"method":"readContents","params":{"request":3,"offset":0,"length":10,"credit":5}}"#,
            #"{"id":7,"method":"writePlaceholder","params":{"url":"file:///a","item":\#(item)}}"#,
            #"{"id":8,"error":{"code":"versionMismatch","message":"no","item":\#(item)}}"#,
            #"{"method":"changed","params":{"folder":"1"}}"#, #"{"method":"credit","params":{"request":1,"bytes":7}}"#,
        ]
        let frames = messages.map { Frame.json(Array($0.utf8)).encoded }
        return frames + [frames.flatMap { $0 }, Frame.bytes(request: 1, offset: 5, Array("bytes".utf8)).encoded]
    }()
}

/// Source: Steele, Lea, Flood, SplitMix64.
private struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
