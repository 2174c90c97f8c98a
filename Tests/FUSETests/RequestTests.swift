import Dispatch
import FUSE
import Glibc
import Synchronization
import Testing

/// Requests that are answered late, never, or by several.
@Suite("Requests", .serialized)
struct RequestTests {
    /// Reads hang until the test answers them.
    class Hanging: MemoryFileSystem, @unchecked Sendable {
        let pending = Mutex<[FUSEPendingRequest]>([])
        let directIO: Bool
        let answersInterrupts: Bool
        let interrupts = Atomic(0)
        /// Set and read while `pending` is locked, so that no read gets in after the last is answered.
        private let isOver = Atomic(false)

        init(directIO: Bool, answersInterrupts: Bool = true) {
            self.directIO = directIO
            self.answersInterrupts = answersInterrupts
            super.init()
            add("file", "some text\n")
        }

        override func openReply(node: UInt64, flags: Int32) -> FUSEOpenReply {
            FUSEOpenReply(handle: node + 1000, directIO: directIO)
        }

        override func read(
            _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
        ) {
            count("read")
            let pending = FUSEPendingRequest(request)
            pending.onInterrupt { [self, weak pending] in
                interrupts.add(1, ordering: .relaxed)
                if answersInterrupts, let request = pending?.take() { request.reply(errno: EINTR) }
            }
            let isTooLate = self.pending.withLock { waiting in
                if !isOver.load(ordering: .relaxed) { waiting.append(pending) }
                return isOver.load(ordering: .relaxed)
            }
            if isTooLate { pending.take()?.reply(errno: ETIMEDOUT) }
        }

        /// The reads that hang fail, and those to come.
        func failPending() {
            let hung = pending.withLock { waiting in
                isOver.store(true, ordering: .relaxed)
                return waiting
            }
            for pending in hung { pending.take()?.reply(errno: ETIMEDOUT) }
        }
    }

    @Test func answeredFromATask() async throws {
        final class Late: MemoryFileSystem, @unchecked Sendable {
            override func read(
                _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
            ) {
                let pending = FUSEPendingRequest(request)
                Task.detached {
                    try await Task.sleep(for: .milliseconds(20))
                    guard let request = pending.take() else { return }
                    if pending.take() != nil { Issue.record("taken twice") }
                    let context = request.context
                    #expect(context.uid == getuid() && context.pid > 1)
                    self.readNow(request, node, handle, offset, size)
                }
            }

            private func readNow(
                _ request: consuming FUSERequest, _ node: UInt64, _ handle: UInt64, _ offset: Int64, _ size: Int
            ) {
                super.read(request, node: node, handle: handle, offset: offset, size: size)
            }
        }
        let fileSystem = Late()
        fileSystem.add("file", "from a task\n")
        try await Mounted.with(fileSystem) { mounted in
            let children = (0..<20).map { _ in Child("cat $M/file", variables: ["M": mounted.path]) }
            for child in children { #expect(await child.end().output == "from a task\n") }
        }
    }

    /// More hung requests than threads: none of them holds a thread.
    @Test func hungReadsDoNotHoldThreads() async throws {
        let fileSystem = Hanging(directIO: true)
        fileSystem.add("other", "")
        try await Mounted.with(fileSystem) { mounted in
            let children = (0..<70).map { _ in Child("cat $M/file", variables: ["M": mounted.path]) }
            #expect(await eventually(within: 30) { fileSystem.pending.withLock { $0.count } == 70 })
            #expect(await Child.run("ls $M", ["M": mounted.path], limit: 30).output == "file\nother\n")
            fileSystem.failPending()
            for child in children { #expect(await child.end().output.contains("Connection timed out")) }
        }
    }

    /// After many late answers, a request waits for no thread that works for another while some have nothing to do.
    @Test func requestsAfterHungOnesWaitForNobody() async throws {
        final class Mixed: Hanging, @unchecked Sendable {
            let working = Atomic(0)
            let mayEnd = DispatchSemaphore(value: 0)

            override func read(
                _ request: consuming FUSERequest, node: UInt64, handle: UInt64, offset: Int64, size: Int
            ) {
                switch contents(of: node) {
                case "some text\n": return super.read(request, node: node, handle: handle, offset: offset, size: size)
                case "slow":
                    working.add(1, ordering: .relaxed)
                    mayEnd.wait()
                default: break
                }
                request.reply(errno: ENODATA)
            }
        }
        let fileSystem = Mixed(directIO: true)
        fileSystem.add("slow", "slow")
        fileSystem.add("quick", "quick")
        try await Mounted.with(fileSystem) { mounted in
            func cat(_ name: String) -> Child {
                // On one processor: its requests go to one queue.
                Child("taskset -c 0 cat $M/\(name)", variables: ["M": mounted.path])
            }
            let hung = (0..<40).map { _ in cat("file") }
            #expect(await eventually(within: 30) { fileSystem.pending.withLock { $0.count } == 40 })
            fileSystem.failPending()
            for child in hung { #expect(await child.end().output.contains("Connection timed out")) }
            let slow = (0..<3).map { _ in cat("slow") }
            #expect(await eventually(within: 30) { fileSystem.working.load(ordering: .relaxed) == 3 })
            let quick = (0..<30).map { _ in cat("quick") }
            for child in quick { #expect(await child.end().output.contains("No data available")) }
            for _ in slow { fileSystem.mayEnd.signal() }
            for child in slow { #expect(await child.end().output.contains("No data available")) }
        }
    }

    @Test(arguments: [true, false])
    func anInterruptGetsAHungReadOut(directIO: Bool) async throws {
        let fileSystem = Hanging(directIO: directIO)
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("exec cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.calls("read") > 0 })
            try await Task.sleep(for: .milliseconds(50))
            #expect(fileSystem.interrupts.load(ordering: .relaxed) == 0)
            child.signal(SIGINT)
            let result = await child.end(limit: 30)
            #expect(result.signal == SIGINT)
            // The kernel sends read-ahead in the background and interrupts nothing then: the
            // process leaves on its own when the signal kills it.
            if directIO { #expect(fileSystem.interrupts.load(ordering: .relaxed) == 1) }
            fileSystem.pending.withLock { $0 = [] }
        }
    }

    /// The reply may race with the interrupt in every way.
    @Test func interruptsRaceWithReplies() async throws {
        let fileSystem = Hanging(directIO: true)
        try await Mounted.with(fileSystem) { mounted in
            for round in 0..<100 {
                let child = Child("exec cat $M/file", variables: ["M": mounted.path])
                _ = await eventually(within: 5) { fileSystem.pending.withLock { !$0.isEmpty } }
                let pending = fileSystem.pending.withLock { $0.removeFirst() }
                async let answered = Task.detached {
                    usleep(UInt32(round * 3))
                    guard let request = pending.take() else { return false }
                    return request.reply(errno: EIO)
                }.value
                usleep(UInt32((100 - round) * 3))
                child.signal(SIGINT)
                _ = await answered
                let result = await child.end(limit: 3)
                #expect(!result.timedOut)
            }
        }
    }

    @Test func aRequestThatWasInterruptedBeforeSaysSo() async throws {
        let fileSystem = Hanging(directIO: true, answersInterrupts: false)
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("exec cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.pending.withLock { !$0.isEmpty } })
            child.signal(SIGINT)
            #expect(await eventually(within: 2) { fileSystem.interrupts.load(ordering: .relaxed) == 1 })
            let pending = fileSystem.pending.withLock { $0.removeFirst() }
            let called = Atomic(0)
            pending.onInterrupt { called.add(1, ordering: .relaxed) }
            #expect(await eventually(within: 2) { called.load(ordering: .relaxed) == 1 })
            guard let request = pending.take() else { Issue.record("gone"); return }
            let isInterrupted = request.isInterrupted
            request.reply(errno: EINTR)
            #expect(isInterrupted)
            pending.onInterrupt { called.add(1, ordering: .relaxed) }
            #expect(await child.end().signal == SIGINT)
            #expect(called.load(ordering: .relaxed) == 1)
        }
    }

    @Test func aDroppedRequestAnswersEIO() async throws {
        final class Forgetful: MemoryFileSystem, @unchecked Sendable {
            override func open(_ request: consuming FUSERequest, node: UInt64, flags: Int32, killPrivileges: Bool) {
                count("open")
            }
            override func mkdir(_ request: consuming FUSERequest, parent: UInt64, name: [UInt8], mode: UInt32) {
                let pending = FUSEPendingRequest(request)
                pending.onInterrupt {}
            }
        }
        let fileSystem = Forgetful()
        fileSystem.add("file")
        try await Mounted.with(fileSystem) { mounted in
            let result = await Child.run("cat $M/file; mkdir $M/d", ["M": mounted.path], limit: 3)
            #expect(result.output.split(separator: "\n").count == 2)
            #expect(result.output.split(separator: "\n").allSatisfy { $0.hasSuffix("Input/output error") })
        }
    }

    @Test func aReplyAfterTheEndIsNotTaken() async throws {
        let fileSystem = Hanging(directIO: true)
        let left = Mutex<[FUSEPendingRequest]>([])
        try await Mounted.with(fileSystem) { mounted in
            let child = Child("cat $M/file", variables: ["M": mounted.path])
            #expect(await eventually(within: 5) { fileSystem.calls("read") == 1 })
            mounted.session.exit()
            #expect(await mounted.runEnds(within: 3))
            #expect(await child.end(limit: 3).timedOut == false)
            left.withLock { $0 = fileSystem.pending.withLock { $0 } }
        }
        // The session itself is gone by now.
        guard let request = left.withLock({ $0[0] }).take() else { Issue.record("gone"); return }
        #expect(request.reply(errno: 0) == false)
    }
}
