import ContentStore
import Foundation
import Testing

@Suite struct PresenceTests {
    private let test: TestStore

    init() throws { test = try TestStore() }

    @Test func nothingIsHereAtFirst() throws {
        let file = try test.open(size: 100)
        #expect(!file.isComplete && file.bytesPresent == 0 && file.baseSize == 100)
        #expect(file.missing(in: 10..<30) == [10..<30])
        #expect(file.missing(in: 90..<300) == [90..<100])
        #expect(file.missing(in: 100..<300) == [])
        #expect(try file.status().size == 100)
        #expect(try file.status().blocks == 0)
    }

    @Test func whatWasStoredIsHere() throws {
        let file = try test.open(size: 100)
        try file.store([UInt8](repeating: 1, count: 20), at: 10)
        try file.store([UInt8](repeating: 2, count: 10), at: 50)
        #expect(file.missing(in: 0..<100) == [0..<10, 30..<50, 60..<100])
        #expect(file.missing(in: 15..<25) == [])
        #expect(file.bytesPresent == 30)
        try file.store([UInt8](repeating: 3, count: 100), at: 0)
        #expect(file.isComplete && file.present == nil && file.bytesPresent == 100)
        // What was here first stays.
        #expect(try file.bytes(8..<12) == [3, 3, 1, 1])
        #expect(try file.bytes(50..<51) == [2])
    }

    @Test func blocksOfZerosStayHoles() throws {
        let size = 64 * 4_096 + 100
        let file = try test.open(size: Int64(size))
        var bytes = [UInt8](repeating: 0, count: size)
        for place in [5, 3 * 4_096, 10 * 4_096 - 1, size - 1] { bytes[place] = 7 }
        // In pieces that begin and end anywhere.
        for start in stride(from: 0, to: size, by: 10_000) {
            try file.store(Array(bytes[start..<min(size, start + 10_000)]), at: Int64(start))
        }
        #expect(file.isComplete)
        #expect(try file.bytes(0..<Int64(size)) == bytes)
        // Four blocks have data.
        #expect(try file.status().blocks <= 4 * 8)
        let empty = try test.open(6, size: 1 << 20)
        try empty.store([UInt8](repeating: 0, count: 1 << 20), at: 0)
        #expect(try empty.isComplete && empty.status().blocks == 0 && empty.status().size == 1 << 20)
    }

    @Test func zerosReplaceWhatAnEarlierDownloadLeft() throws {
        let file = try test.open(size: 1 << 20)
        let old = [UInt8](repeating: 9, count: 1 << 20)
        #expect(pwrite(file.descriptor, old, old.count, 0) == old.count)
        try file.store([UInt8](repeating: 0, count: 1 << 20), at: 0)
        #expect(try file.bytes(0..<1 << 20) == [UInt8](repeating: 0, count: 1 << 20))
        #expect(try file.status().blocks == 0)
    }

    @Test func zerosNeverReplaceAProgramsBytes() throws {
        let file = try test.open(size: 1 << 20)
        try file.write([1, 2, 3], at: 500_000)
        try file.store([UInt8](repeating: 0, count: 1 << 20), at: 0)
        #expect(try file.bytes(499_999..<500_004) == [0, 1, 2, 3, 0])
    }

    @Test func anEmptyDocumentAndAKnownCompleteOneAreComplete() throws {
        #expect(try test.open(1, size: 0).isComplete)
        #expect(try test.open(2, size: 10, present: nil).isComplete)
        #expect(try test.open(3, size: 10, present: RangeSet(0..<10)).isComplete)
        #expect(try !test.open(4, size: 10, present: RangeSet(0..<9)).isComplete)
    }

    @Test func aWriteSaysWhetherItBroughtSomething() throws {
        let file = try test.open(size: 100)
        #expect(try file.write([1, 2, 3], at: 10))
        // Until it is written down somebody must do that.
        #expect(try file.write([4], at: 11))
        file.noteRecorded(file.present)
        #expect(try !file.write([4], at: 11))
        #expect(try file.write([5, 6], at: 12))
        // Past the provider's bytes nothing can be missing.
        #expect(try !file.write([7], at: 200))
        #expect(file.missing(in: 0..<300) == [0..<10, 14..<100])
        #expect(try file.status().size == 201)
    }

    @Test func bytesPastTheBaseSizeAreNotStored() throws {
        let file = try test.open(size: 10)
        try file.store([UInt8](repeating: 9, count: 50), at: 5)
        #expect(try file.status().size == 10)
        #expect(file.missing(in: 0..<100) == [0..<5])
        try file.store([1], at: 500)
        #expect(try file.status().size == 10)
    }

    @Test func truncationIsForEver() throws {
        let file = try test.open(size: 100)
        try file.store([UInt8](repeating: 1, count: 10), at: 0)
        let planned = file.presence(truncatedTo: 50)
        #expect(planned.baseSize == 50 && planned.present == RangeSet(0..<10))
        #expect(file.baseSize == 100)
        try file.truncate(to: 50)
        #expect(file.baseSize == 50)
        try file.truncate(to: 100)
        #expect(file.baseSize == 50)
        try file.store([UInt8](repeating: 2, count: 100), at: 0)
        #expect(file.isComplete)
        #expect(try file.bytes(48..<52) == [2, 2, 0, 0])
        #expect(file.presence(truncatedTo: 0).present == nil)
    }

    /// Programs' bytes win, whatever order downloads and writes come in.
    @Test(arguments: 0..<20)
    func aDownloadNeverOverwritesAProgram(seed: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let base = 500
        let remote = (0..<base).map { _ in UInt8.random(in: 1...100, using: &generator) }
        let file = try test.open(Int64(seed % 15) + 1, Int64(seed) + 1, size: Int64(base))
        var model = remote
        var cut = base
        for _ in 0..<200 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                let start = Int.random(in: 0..<base, using: &generator)
                let end = min(base, start + Int.random(in: 1...120, using: &generator))
                try file.store(Array(remote[start..<end]), at: Int64(start))
            case 5..<9:
                let start = Int.random(in: 0..<base + 100, using: &generator)
                let bytes = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
                    UInt8.random(in: 101...255, using: &generator)
                }
                try file.write(bytes, at: Int64(start))
                if model.count < start + bytes.count {
                    model += [UInt8](repeating: 0, count: start + bytes.count - model.count)
                }
                model.replaceSubrange(start..<start + bytes.count, with: bytes)
            default:
                let size = Int.random(in: 0..<base + 100, using: &generator)
                try file.truncate(to: Int64(size))
                cut = min(cut, size)
                if size < model.count {
                    model.removeLast(model.count - size)
                } else {
                    model += [UInt8](repeating: 0, count: size - model.count)
                }
            }
            #expect(file.baseSize == Int64(cut))
            let found = try file.bytes(0..<Int64(model.count))
            try #require(found.count == model.count)
            var isMissing = [Bool](repeating: false, count: model.count)
            for range in file.missing(in: 0..<Int64(model.count)) {
                for index in range { isMissing[Int(index)] = true }
            }
            for index in model.indices where !isMissing[index] && found[index] != model[index] {
                Issue.record("byte \(index) is \(found[index]), not \(model[index])")
                return
            }
        }
        try file.store(remote, at: 0)
        #expect(file.isComplete)
        #expect(try file.bytes(0..<2_000) == model)
    }
}
