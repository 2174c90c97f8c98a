import ContentStore
import Foundation
import Testing

@Suite struct StoreTests {
    private let test: TestStore

    init() throws { test = try TestStore() }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test func allOpenersShareOneObject() throws {
        let first = try test.open(size: 10)
        let second = try test.open(size: 10, present: nil)
        #expect(first === second)
        #expect(test.store.opened(first.id) === first)
        #expect(try test.open(5, 2, size: 10) !== first)
        #expect(test.store.opened(GenerationID(inode: 6, number: 1)) == nil)
    }

    @Test func theObjectGoesWithItsLastOpener() throws {
        var file: ContentFile? = try test.open(size: 10)
        let id = try #require(file?.id)
        try file?.write([1, 2, 3], at: 0)
        file = nil
        #expect(test.store.opened(id) == nil)
        #expect(try test.open(size: 10, present: nil).bytes(0..<3) == [1, 2, 3])
    }

    @Test func bytesThatAreGoneAreMissedNotMadeUp() throws {
        for present in [nil, RangeSet<Int64>(0..<5)] {
            let error = #expect(throws: ContentError.self) {
                _ = try test.store.open(
                    GenerationID(inode: 8, number: 1), size: 10, baseSize: 10, present: present)
            }
            #expect(error?.code == .missing)
            #expect(!exists(test.path(8, 1)))
        }
    }

    @Test func onlyTheOwnerMayRead() throws {
        _ = try test.open(size: 10)
        func mode(_ path: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(test.directory) == 0o700)
        #expect(try mode(test.directory + "/storage") == 0o700)
        #expect(try mode(test.path()) == 0o600)
    }

    @Test func aRemovedGenerationLivesForItsOpeners() throws {
        let file = try test.open(size: 3, present: nil)
        try file.write([1, 2, 3], at: 0)
        test.store.remove(file.id)
        #expect(!exists(test.path()))
        #expect(test.store.status(file.id) == nil)
        #expect(try file.bytes(0..<3) == [1, 2, 3])
        // And the same name is something new.
        let fresh = try test.open(size: 3, present: nil)
        #expect(fresh !== file)
        #expect(try fresh.bytes(0..<3) == [0, 0, 0])
    }

    @Test func cleanUpKeepsWhatItDoesNotKnow() throws {
        for (inode, generation): (Int64, Int64) in [(3, 1), (3, 2), (4, 1), (9, 1), (15, 7)] {
            _ = try test.open(inode, generation, size: 1)
        }
        let stray = test.directory + "/storage/03/notes.txt"
        try Data().write(to: URL(filePath: stray, directoryHint: .notDirectory))
        let unknown = test.store.cleanUp(highest: 9) { [3: 2, 9: 1][$0.inode] == $0.number }
        #expect(unknown == [test.directory + "/lost+found/15.7"])
        #expect(!exists(test.path(3, 1)))
        #expect(exists(test.path(3, 2)))
        #expect(!exists(test.path(4, 1)))
        #expect(exists(test.path(9, 1)))
        // Out of the way of an inode that may get this number one day.
        #expect(!exists(test.path(15, 7)))
        #expect(exists(test.directory + "/lost+found/15.7"))
        #expect(exists(stray))
    }

    @Test func aSecondOpenIsSeen() throws {
        let file = try test.open(size: 4, present: nil)
        #expect(soon { !file.isUsedElsewhere })
        for flags in [O_RDONLY, O_RDWR] {
            let other = open(test.path(), flags | O_CLOEXEC)
            try #require(other >= 0)
            #expect(file.isUsedElsewhere)
            close(other)
            #expect(soon { !file.isUsedElsewhere })
        }
        // The question leaves no lease behind that would delay an opener.
        let other = open(test.path(), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        #expect(other >= 0)
        close(other)
    }

    @Test func aMappingThatOutlivedItsDescriptorIsSeen() throws {
        let file = try test.open(size: 4, present: nil)
        let other = open(test.path(), O_RDWR | O_CLOEXEC)
        try #require(other >= 0)
        let mapping = mmap(nil, 4, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0)
        try #require(mapping != MAP_FAILED)
        close(other)
        #expect(file.isUsedElsewhere)
        munmap(mapping, 4)
        #expect(soon { !file.isUsedElsewhere })
    }

    /// SIGIO comes to whoever has the lease; if nobody expects it, that is the end of the process, of this one.
    @Test func whoOpensItWhileALeaseIsTriedEndsNobody() throws {
        let (store, path) = (test.store, test.path())
        let id = try test.open(size: 4, present: nil).id
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            for _ in 0..<20_000 {
                if number == 0 {
                    _ = store.isWritable(id)
                } else {
                    let other = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
                    if other >= 0 { close(other) }
                }
            }
        }
        #expect(soon { !store.isWritable(id) })
    }

    @Test func aDateIsSetToTheNanosecond() throws {
        let file = try test.open(size: 4, present: nil)
        for date: Int64 in [0, 1, 1_234_567_890_123_456_789, -1, -1_500_000_000] {
            try file.setModified(date)
            #expect(try file.status().modified == date)
        }
    }

    // MARK: Snapshots

    @Test func aSnapshotIsWhatWasThereThen() throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
        let file = try test.open(size: 300_000, present: nil)
        try file.write(bytes, at: 0)
        let snapshot = try test.store.snapshot(of: file)
        try file.write([0xff, 0xff], at: 0)
        try file.truncate(to: 10)
        #expect(snapshot.size == 300_000)
        #expect(try snapshot.read(at: 0, upTo: 400_000) == bytes)
        #expect(try snapshot.read(at: 299_990, upTo: 100) == Array(bytes.suffix(10)))
        #expect(try snapshot.read(at: 300_000, upTo: 5) == [])
        #expect(try snapshot.read(at: 400_000, upTo: 5) == [])
    }

    /// Whatever ends the daemon.
    @Test func aSnapshotHasNoName() throws {
        let file = try test.open(size: 10, present: nil)
        let snapshot = try test.store.snapshot(of: file)
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.directory + "/uploads").isEmpty)
        #expect(snapshot.size == 10)
    }

    @Test func whatADeadDaemonWasSendingGoes() throws {
        let left = test.directory + "/uploads/5.1"
        try Data("x".utf8).write(to: URL(filePath: left, directoryHint: .notDirectory))
        _ = try ContentStore(directory: test.directory)
        #expect(!exists(left))
    }

    /// A second snapshot of the same generation must not take the first one's file away.
    @Test func twoSnapshotsOfOneGenerationStandSideBySide() throws {
        let file = try test.open(size: 3, present: nil)
        try file.write([1, 2, 3], at: 0)
        var first: Snapshot? = try test.store.snapshot(of: file)
        try file.write([4, 5, 6], at: 0)
        let second = try test.store.snapshot(of: file)
        #expect(try first?.read(at: 0, upTo: 3) == [1, 2, 3])
        first = nil
        #expect(try second.read(at: 0, upTo: 3) == [4, 5, 6])
    }

    /// Whoever writes meanwhile makes the snapshot fail or be whole, never be of two states.
    @Test func aWriteDuringTheCopyIsNoticed() throws {
        let size = 8 << 20
        let file = try test.open(size: Int64(size), present: nil)
        try file.write([UInt8](repeating: 1, count: size), at: 0)
        let stop = Flag()
        let writer = Thread {
            var value: UInt8 = 2
            while !stop.isSet {
                _ = try? file.write([UInt8](repeating: value, count: 1), at: 0)
                _ = try? file.write([UInt8](repeating: value, count: 1), at: Int64(size - 1))
                value = value == 250 ? 2 : value + 1
            }
            stop.finish()
        }
        writer.start()
        defer {
            stop.set()
            stop.wait()
        }
        var changed = 0
        for _ in 0..<20 {
            do { _ = try test.store.snapshot(of: file) } catch {
                #expect(error.code == .changed)
                changed += 1
            }
        }
        #expect(changed > 0)
    }
}

private final class Flag: @unchecked Sendable {
    private let condition = NSCondition()
    private var isRaised = false
    private var isFinished = false
    var isSet: Bool { condition.withLock { isRaised } }
    func set() { condition.withLock { isRaised = true } }
    func finish() {
        condition.withLock {
            isFinished = true
            condition.broadcast()
        }
    }
    func wait() {
        condition.lock()
        while !isFinished { condition.wait() }
        condition.unlock()
    }
}
