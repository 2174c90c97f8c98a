import FUSE
import Foundation
import Glibc
import Synchronization
import Testing

/// A session that is mounted in a fresh folder and served for the length of a test. However
/// the test ends, the mount is taken away; if the test hangs, the watchdog does it.
final class Mounted: Sendable {
    let path: String
    let session: FUSESession
    private let result = Mutex<Int32?>(nil)
    private let isOver = Atomic(false)

    private init(_ fileSystem: any FUSEFileSystem, _ options: FUSESession.Options) throws {
        var template = Array("/tmp/hydrant-fuse-test.XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
        session = try FUSESession(mountPoint: path, options: options, fileSystem: fileSystem)
        try session.mount()
        Thread { [self] in
            let result = session.run()
            self.result.withLock { $0 = result }
        }.start()
        Thread { [self] in watch() }.start()
    }

    /// What `run` returned; nil while it is running.
    var runResult: Int32? { result.withLock { $0 } }

    func runEnds(within seconds: Double) async -> Bool {
        await eventually(within: seconds) { self.runResult != nil }
    }

    static func with(
        _ fileSystem: any FUSEFileSystem, options: FUSESession.Options = .init(mountOptions: ["subtype=hydrant-test"]),
        _ body: (Mounted) async throws -> Void
    ) async throws {
        let mounted = try Mounted(fileSystem, options)
        let failure: (any Error)?
        do {
            try await body(mounted)
            failure = nil
        } catch { failure = error }
        mounted.session.exit()
        let ended = await mounted.runEnds(within: 5)
        mounted.isOver.store(true, ordering: .relaxed)
        #expect(ended, "run() did not return after exit()")
        #expect(!Mounted.isMounted(mounted.path), "still mounted")
        rmdir(mounted.path)
        if let failure { throw failure }
    }

    private static let limit = 240.0

    /// A hung mount must fail its test, not the whole run.
    private func watch() {
        let end = Date(timeIntervalSinceNow: Self.limit)
        while !isOver.load(ordering: .relaxed) {
            usleep(50_000)
            guard Date() > end else { continue }
            Issue.record("the test hung for \(Self.limit) s; its mount was torn down")
            session.exit()
            umount2(path, 2)
            abortAll()
            Child.running.withLock { for pid in $0 { kill(-pid, SIGKILL) } }
            return
        }
    }

    /// The kernel's own switch; fusectl may have to be mounted for it.
    private func abortAll() {
        let control = path + ".ctl"
        mkdir(control, 0o700)
        guard Glibc.mount("none", control, "fusectl", 0, nil) == 0 else { return }
        for minor in (try? FileManager.default.contentsOfDirectory(atPath: control)) ?? [] where minor == device {
            try? Data("1".utf8).write(to: URL(filePath: "\(control)/\(minor)/abort", directoryHint: .notDirectory))
        }
        umount2(control, 2)
        rmdir(control)
    }

    private var device: String? {
        Self.mountLines().first { $0.count > 4 && $0[4] == path }?[2].split(separator: ":").last.map(String.init)
    }

    static func isMounted(_ path: String) -> Bool { mountLines().contains { $0.count > 4 && $0[4] == path } }

    private static func mountLines() -> [[String]] {
        let text = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }
}

func eventually(within seconds: Double, _ condition: () -> Bool) async -> Bool {
    // The limits are those of an idle machine; one that is not may take many times as long, and its disk stand still.
    let deadline = ContinuousClock.now + .seconds(max(seconds * 6, 60))
    while !condition() {
        guard ContinuousClock.now < deadline else { return false }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return true
}
