import Foundation
import Synchronization
import Testing

@testable import FUSE

/// FUSE over io_uring. The other suites run over it as well where the kernel's parameter says so (`scripts/test ring`).
@Suite("The ring") struct RingTests {
    private static var parameter: String? {
        try? String(contentsOfFile: "/sys/module/fuse/parameters/enable_uring", encoding: .utf8)
    }

    @Test func isUsedWhereTheAdministratorAllowsIt() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("file", "text\n")
        try await Mounted.with(fileSystem) { mounted in
            #expect(await Child.run("cat $M/file", ["M": mounted.path]).output == "text\n")
            switch mounted.session.transport {
            case .ring: #expect(Self.parameter?.hasPrefix("Y") == true)
            case .device(let reason):
                #expect(Self.parameter?.hasPrefix("Y") != true)
                #expect(reason == FUSERing.missingOffer)
            }
        }
    }

    @Test func canBeSwitchedOff() async throws {
        let fileSystem = MemoryFileSystem()
        fileSystem.add("file", "text\n")
        var options = FUSESession.Options(mountOptions: ["subtype=hydrant-test"])
        options.ring = false
        try await Mounted.with(fileSystem, options: options) { mounted in
            #expect(await Child.run("cat $M/file", ["M": mounted.path]).output == "text\n")
            #expect(mounted.session.transport == .device(reason: "it is switched off (HYDRANT_RING=0)"))
        }
    }

    // MARK: Entries

    // linux/fuse.h: fuse_uring_req_header has fuse_in_header or fuse_out_header @0, the operation's struct @128, and
    // payload_sz @272. fuse_in_header: len @0, unique @8; fuse_out_header: len @0, error @4, unique @8.

    private func entry(
        operation: [UInt8], payload: [UInt8], length: Int? = nil, payloadSize: UInt32? = nil
    ) -> (FUSERingEntry, UnsafeMutableRawPointer) {
        let entry = FUSERingEntry(queue: 0, payloadSize: 8192)!
        let memory = entry.parts[0].iov_base!
        memory.storeBytes(of: UInt32(length ?? 40 + operation.count + payload.count), as: UInt32.self)
        memory.storeBytes(of: 77, toByteOffset: 8, as: UInt64.self)
        (memory + 128).copyMemory(from: operation, byteCount: operation.count)
        entry.payload.copyBytes(from: payload)
        memory.storeBytes(of: payloadSize ?? UInt32(payload.count), toByteOffset: 272, as: UInt32.self)
        return (entry, memory)
    }

    @Test func aRequestIsInOnePiece() throws {
        let (entry, _) = entry(operation: [1, 2, 3, 4, 5, 6, 7, 8], payload: [9, 10, 11])
        let request = try #require(entry.request())
        #expect(request.count == 51 && entry.unique == 77)
        #expect(Array(request[40...]) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
        // A write's bytes stay where the kernel has put them.
        #expect(request.baseAddress! + 48 == entry.payload.baseAddress!)
    }

    /// Lengths that contradict each other reach no memory but the entry's.
    @Test(arguments: [(39, 0), (40, 1), (40 + 129, 0), (60, 8193), (1 << 30, 8192)])
    func wrongLengthsAreRefused(_ length: Int, _ payload: Int) {
        #expect(entry(operation: [], payload: [], length: length, payloadSize: UInt32(payload)).0.request() == nil)
    }

    @Test func anAnswerGoesIntoThePayload() {
        let (entry, memory) = entry(operation: [], payload: [])
        _ = entry.request()
        func fill(_ parts: [[UInt8]]) {
            // libfuse's header comes first; its length is its own business.
            let buffers = ([[0, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0]] + parts).map { part in
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: part.count, alignment: 16)
                buffer.copyBytes(from: part)
                return buffer
            }
            buffers.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }.withUnsafeBufferPointer {
                entry.fill($0)
            }
            for buffer in buffers { buffer.deallocate() }
        }
        func answer() -> [Int] {
            [
                Int(memory.load(as: UInt32.self)), Int(memory.load(fromByteOffset: 4, as: Int32.self)),
                Int(memory.load(fromByteOffset: 8, as: UInt64.self)),
                Int(memory.load(fromByteOffset: 272, as: UInt32.self)),
            ]
        }
        fill([[1, 2, 3], [4, 5]])
        #expect(answer() == [21, 0, 77, 5])
        #expect(Array(entry.payload[..<5]) == [1, 2, 3, 4, 5])
        // More than there is room for: an error, and nothing beyond the end.
        fill([[UInt8](repeating: 1, count: 8000), [UInt8](repeating: 2, count: 193)])
        #expect(answer() == [16, Int(-EIO), 77, 0])
    }

    // MARK: Queues

    private func queue(_ width: Int) throws -> FUSERingQueue {
        FUSERingQueue(0, try (0..<width).map { _ in try #require(FUSERingThread(processor: 0)) })
    }

    /// Each thread of a queue has an entry again, whatever waits for an answer, and no more are made than needed.
    @Test func aQueueHasAnEntryForEachThread() throws {
        let queue = try queue(3)
        let threads = queue.threads
        let another = try #require(FUSERingThread(processor: 0))
        #expect(queue.lost(by: threads[1]) === threads[1])
        // A late answer: each thread has an entry already, so a thread is made for it. None, if that is impossible.
        #expect(queue.gained { another } === another)
        threads[2].isIdle.store(true, ordering: .relaxed)
        #expect(queue.gained { nil } === threads[2])
        // Five entries for a width of three: one that loses its only one makes none.
        #expect(queue.lost(by: threads[0]) == nil)
        // The next answer goes to it.
        #expect(queue.gained { nil } === threads[0])
        // When the others have lost theirs, the thread without one gets a new one.
        #expect(queue.lost(by: threads[0]) == nil)
        #expect(queue.lost(by: threads[2]) == nil)
        #expect(queue.lost(by: threads[2]) === threads[2])
        #expect(queue.threads.count == 4)
    }

    /// Beyond the bound, those that wait get a second entry.
    @Test func aQueuesThreadsAreBounded() throws {
        let queue = try queue(2)
        for _ in 2..<FUSERingQueue.mostThreads {
            let made = try #require(FUSERingThread(processor: 0))
            #expect(queue.gained { made } === made)
        }
        let idle = queue.threads[7]
        idle.isIdle.store(true, ordering: .relaxed)
        var made = 0
        let chosen = queue.gained {
            made += 1
            return nil
        }
        #expect(chosen === idle && made == 0)
    }

    /// Where no thread could be started, one has two entries; it keeps one as soon as another thread has none.
    @Test func aThreadWithTwoEntriesGivesOneAway() throws {
        let queue = try queue(2)
        let threads = queue.threads
        threads[0].isIdle.store(true, ordering: .relaxed)
        #expect(queue.gained { nil } === threads[0])
        #expect(queue.relief(of: threads[0]) == nil)
        #expect(queue.lost(by: threads[1]) == nil)
        #expect(queue.relief(of: threads[0]) === threads[1])
        #expect(queue.relief(of: threads[0]) == nil && queue.relief(of: threads[1]) == nil)
    }

    /// The kernel refuses a ring: nothing is freed twice, and no file of another is closed.
    @Test func aRefusedRingLeavesNothing() {
        for _ in 0..<100 {
            #expect(FUSERingThread(processor: 0, commands: 0) == nil)
            #expect(fcntl(0, F_GETFD) >= 0)
        }
    }

    /// An entry that the kernel has refused is missed only by a queue without another.
    @Test func aRefusedEntryIsMissedByAnEmptyQueueOnly() throws {
        let queue = try queue(2)
        let threads = queue.threads
        #expect(!queue.has(none: threads[0]))
        // Its next loss asks for another one.
        #expect(queue.lost(by: threads[1]) === threads[1])
        #expect(queue.has(none: threads[1]))
    }

    // MARK: Processors

    /// The ring's threads stay on one processor each; a thread that a callback starts does not.
    @Test func threadsThatACallbackStartsHaveAllProcessors() async throws {
        final class Starting: MemoryFileSystem, @unchecked Sendable {
            let seen = Mutex<Set<String>>([])

            override func read(
                _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
            ) {
                Thread { [self] in
                    for _ in 0..<6_000 where !seen.withLock({ $0.contains(RingTests.all) }) {
                        let now = RingTests.processors("/proc/thread-self/status")
                        seen.withLock { _ = $0.insert(now) }
                        usleep(10_000)
                    }
                }.start()
                super.read(request, node: node, handle: handle, offset: offset, size: size)
            }
        }
        let fileSystem = Starting()
        fileSystem.add("file", "text\n")
        try await Mounted.with(fileSystem) { mounted in
            #expect(await Child.run("cat $M/file", ["M": mounted.path]).output == "text\n")
            // (At most once a second somebody looks, after a callback.)
            #expect(
                await eventually(within: 10) {
                    _ = try? FileManager.default.attributesOfItem(atPath: mounted.path + "/missing")
                    return fileSystem.seen.withLock { $0.contains(Self.all) }
                })
        }
    }

    /// The main thread's.
    private static let all = processors("/proc/self/status")

    private static func processors(_ path: String) -> String {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return String(text.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list") } ?? "")
    }
}
