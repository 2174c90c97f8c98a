import FileProvider
import FileProviderTesting
import Foundation
import Glibc
import MountHarness
import SyncEngine
import Testing

/// Programs that wait for a store which does not answer, and get signals meanwhile. On a disk a signal that a program
/// handles breaks off nothing, and one that ends it does so at once.
@Suite("Waiting programs and their signals at a real mount")
struct WaitTests {
    typealias Provider = FaultInjectingProvider<InMemoryProvider>

    /// What hangs, and in which hook.
    struct Call: Sendable, CustomTestStringConvertible {
        var python: String
        var hook: Hook
        var testDescription: String { python }
    }
    static let calls = [
        Call(python: "call(libc.open, b'folder/inner', os.O_RDONLY)", hook: .enumerateItems),
        Call(python: "call(libc.readdir, libc.opendir(b'folder'))", hook: .enumerateItems),
        Call(python: "call(libc.access, b'folder/other', os.R_OK)", hook: .enumerateItems),
        Call(python: "call(libc.mkdir, b'folder/new', 0o700)", hook: .enumerateItems),
        Call(python: "call(libc.rename, b'doc', b'folder/doc')", hook: .enumerateItems),
        Call(python: "call(libc.read, os.open('doc', os.O_RDONLY), buffer, 4)", hook: .startProvidingItem),
    ]

    /// Calls of the C library, without Python's own care for interrupted ones, while an alarm rings that is handled.
    private static func program(_ call: Call) -> String {
        """
        import ctypes, errno, os, signal, sys
        libc, buffer, alarms = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(4), []
        libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
        libc.readdir.argtypes = [ctypes.c_void_p]
        signal.signal(signal.SIGALRM, lambda number, frame: alarms.append(number))
        def call(function, *arguments):
            signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
            result = function(*arguments)
            signal.setitimer(signal.ITIMER_REAL, 0)
            return errno.errorcode[ctypes.get_errno()] if result in (None, -1) else "ok"
        print("ready", file=sys.stderr, flush=True)
        print(\(call.python), len(alarms) > 0)
        """
    }

    private static func withHanging(
        _ hook: Hook, times: SyncTimes = .quick, _ body: @escaping @Sendable (ServedMount, Gate) throws -> Void
    ) async throws {
        let provider = Provider(InMemoryProvider(pieceSize: 4_096))
        try provider.base.put("doc", String(repeating: "text", count: 1_000))
        try provider.base.put("folder/inner", "inside")
        try provider.base.put("folder/other", "other")
        try await withServedMount(provider, times: times) { mount throws in
            try mount.run("ls")
            let gate = Gate()
            provider.plan.inject(.hang(gate), into: hook, times: 100)
            defer { gate.open() }
            try body(mount, gate)
            gate.open()
            #expect(try mount.run("(cat folder/inner doc folder/doc 2>/dev/null || true) | head -c 10") == "insidetext")
        }
    }

    private static func start(_ mount: ServedMount, _ call: Call) throws -> ChildProcess {
        try mount.sandbox.spawn([
            "bash", "-c", "cd \"$MOUNT\" && exec python3 -c \"$0\"", program(call),
        ])
    }

    @Test("a signal that a program handles does not interrupt a call", arguments: calls)
    func handled(_ call: Call) async throws {
        try await Self.withHanging(call.hook) { mount, gate throws in
            let child = try Self.start(mount, call)
            try waitUntil(10, "the call waits for the store") { gate.waitingCount > 0 }
            // A while of alarms.
            usleep(300_000)
            #expect(child.isRunning)
            gate.open()
            let result = child.wait(limit: 20)
            #expect(result.stdout == "ok True\n", "\(result)")
        }
    }

    /// The kernel tells of the first signal only.
    @Test("a signal that ends the program does so at once, also after signals that it handles", arguments: calls)
    func ended(_ call: Call) async throws {
        try await Self.withHanging(call.hook) { mount, gate throws in
            var (shortest, tries) = (Double.infinity, 0)
            var signals = [SIGTERM, SIGKILL, SIGQUIT, SIGTERM, SIGKILL]
            // (On a busy machine it may take longer, all the time for some seconds.)
            while let signal = signals.popLast() ?? (shortest < 0.1 || tries >= 60 ? nil : SIGTERM) {
                tries += 1
                let child = try Self.start(mount, call)
                // (A shell that has not become the program yet ignores SIGQUIT.)
                try waitUntil(10, "the call waits for the store") {
                    child.stderr.contains("ready") && gate.waitingCount > 0
                }
                // A while of alarms.
                usleep(200_000)
                #expect(child.isRunning)
                let seconds = elapsed {
                    child.signal(signal)
                    #expect(child.wait(limit: 10).status == 128 + signal)
                }
                shortest = min(shortest, seconds)
            }
            #expect(shortest < 0.1)
        }
    }

    @Test("programs that wait for a listing can be killed, several at a time, and the others go on waiting")
    func killed() async throws {
        try await Self.killed(["ls folder", "stat folder/inner", "find .", "cat folder/nothing"], besides: "ls folder")
    }

    /// (Whoever makes something in a folder has it for himself in the kernel: behind another one who waits he could not be
    /// killed.)
    @Test("programs that create something in the folder can be killed too")
    func killedMakers() async throws {
        try await Self.killed(["touch folder/new", "mkdir folder/other", "ls folder", "mv doc folder"], besides: nil)
    }

    private static func killed(_ commands: [String], besides patient: String?) async throws {
        try await Self.withHanging(.enumerateItems) { mount, gate throws in
            func start(_ command: String) throws -> ChildProcess {
                try mount.sandbox.spawn(["bash", "-c", "cd \"$MOUNT\" && exec \(command)"])
            }
            // The patient one is first in the folder: nobody may have to wait for it in the kernel, where nothing ends him.
            let patient = try patient.map(start)
            if let patient { try waitUntil(10, "the listing is waited for") { patient.waits(as: "ls") } }
            let children = try commands.map(start)
            for (command, child) in zip(commands, children) {
                let program = String(command.prefix { $0 != " " })
                try waitUntil(10, "\(command) waits") { child.waits(as: program) }
            }
            try waitUntil(10, "the listing is asked for") { gate.waitingCount > 0 }
            for (command, child) in zip(commands, children) {
                #expect(child.isRunning, "\(command)")
                child.signal(SIGKILL)
            }
            for (command, child) in zip(commands, children) {
                #expect(child.wait(limit: 10).status == 128 + SIGKILL, "\(command)")
            }
            if let patient {
                #expect(patient.isRunning)
                gate.open()
                #expect(patient.wait(limit: 10).stdout == "inner\nother\n")
            }
        }
    }

    @Test("a program that waits too long gets ETIMEDOUT, and the result once it has come")
    func limit() async throws {
        for hook in [Hook.enumerateItems, .startProvidingItem] {
            var times = SyncTimes.quick
            (times.longestListing, times.longestRead) = (0.5, 0.5)
            try await Self.withHanging(hook, times: times) { mount, gate throws in
                let result = try mount.shell(hook == .enumerateItems ? "ls folder" : "cat doc", limit: 20)
                #expect(result.stdout.contains("Connection timed out"), "\(result)")
                // (Bytes that nobody has a document open for need not come.)
                if hook == .enumerateItems { #expect(gate.waitingCount > 0) }
            }
        }
    }
}
