import ControlAPI
import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// The page that `hydrant web` serves, in Debian's Chromium.
@Suite("The page in Chromium")
struct BrowserTests {
    /// Chromium on two busy processors, in seconds.
    private static let limit = 240.0

    private struct Address: Decodable {
        var address: String
        var pid: Int32
    }

    /// Serves the page, and walks through it (Scripts/walk.py).
    ///
    /// - Parameter meanwhile: called when the walk has made the file `ready`.
    /// - Returns: what the walk prints, as JSON.
    private static func walk(
        _ scenario: String, _ mount: MountedStore, meanwhile: (() throws -> Void)? = nil
    ) throws -> [String: Any] {
        let served = try mount.hydrant(["web", "--json"], limit: 60)
        guard served.succeeded else { throw HarnessError("web: \(served)") }
        defer { _ = try? mount.hydrant(["web", "--stop"], limit: 60) }
        let address = try JSONDecoder().decode(Address.self, from: Data(served.stdout.utf8))
        let pictures = ProcessInfo.processInfo.environment["HYDRANT_TEST_PICTURES"] ?? mount.scratch + "/pictures"
        try FileManager.default.createDirectory(atPath: pictures, withIntermediateDirectories: true)
        let ready = mount.scratch + "/ready"
        let servers = ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"] ?? ".build/servers"
        let python = URL(filePath: servers).path + "/bin/python"
        let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/Scripts/walk.py"
        let child = try mount.sandbox.spawn([python, script, scenario, address.address, mount.mountPoint, pictures])
        if let meanwhile {
            try waitUntil(limit, "the walk gets there") { access(ready, F_OK) == 0 || !child.isRunning }
            try meanwhile()
        }
        let result = child.wait(limit: limit)
        guard result.succeeded else { throw HarnessError("\(scenario): \(result)") }
        let object = try JSONSerialization.jsonObject(with: Data(result.stdout.utf8))
        return object as? [String: Any] ?? [:]
    }

    private static func with(
        _ change: (inout MountOptions) -> Void = { _ in }, seed: @escaping @Sendable (Seeding) throws -> Void,
        _ body: @escaping @Sendable (MountedStore) throws -> Void
    ) async throws {
        let options = MountOptions.with {
            $0.limit = limit + 60
            $0.store = .directory
            $0.arguments = ["--read-ahead", "none"]
            change(&$0)
        }
        try await withMount(options, seed: { try seed(Seeding($0)) }, body)
    }

    @Test("a folder of 10,000 placeholders is listed, scrolled and searched by typing, and downloads nothing")
    func folder() async throws {
        try await Self.with { store in
            for number in 0..<10_000 { try store.file(String(format: "d%05d.txt", number), "a text\n") }
        } _: { mount in
            let seen = try Self.walk("folder", mount)
            print("web: 10,000 documents shown after \(seen["shown"] ?? "?") s")
            // The list has elements for what is in sight only.
            #expect(try #require(seen["rows"] as? Int) < 80)
            #expect(!mount.hookCalls().contains { $0.hook == .startProvidingItem })
            #expect(try mount.status("d05000.txt").state == .placeholder)
        }
    }

    @Test("search, rename, keep, free, upload by drop and delete; a name with markup is text")
    func work() async throws {
        try await Self.with(seed: Self.documents) { mount in
            // Search finds what was listed.
            try mount.run("ls letters >/dev/null")
            let times = try Self.walk("work", mount) {
                try mount.run("echo x > 'from outside.txt'")
            }
            for (button, time) in times { #expect(try #require(time as? Double) < 1 * patience, "\(button)") }
            #expect(try mount.run("cat dropped.txt") == "dropped\n")
            let names = [
                "<img src=x onerror=document.title=666>.txt", "dropped.txt", "from outside.txt", "letters", "made",
                "renamed.txt",
            ]
            let found = try mount.run("ls -A").split(separator: "\n").map(String.init)
            #expect(found == names)
            try mount.sync()
            try mount.requireSameAsStore()
        }
    }

    private static func documents(_ store: Seeding) throws {
        try store.file("letter.txt", "a letter\n")
        try store.file("old.txt", "old\n")
        try store.file("letters/june.txt", "june\n")
        try store.file("<img src=x onerror=document.title=666>.txt", "markup\n")
    }

    @Test("everything is reached with the keyboard alone")
    func keyboard() async throws {
        try await Self.with(seed: Self.documents) { mount in
            _ = try Self.walk("keyboard", mount)
            #expect(try mount.run("ls letters") == "july.txt\n")
        }
    }

    @Test("a conflict is shown as a difference, and ended; what waits shows; pause and resume")
    func conflict() async throws {
        try await Self.with({
            $0.settle = 3_600; $0.settleAfterSync = 3_600
        }) { store in
            try store.file("doc.txt", "same\nbase\n")
        } _: { mount in
            try mount.run("cat doc.txt >/dev/null; printf 'same\\nmine\\n' > doc.txt")
            try mount.run("printf 'same\\ntheirs\\n' > \"$STORE/doc.txt\"")
            try mount.sync()
            _ = try Self.walk("conflict", mount) { try mount.run("echo w > waiting.txt") }
            #expect(try mount.run("cat doc.txt") == "same\nmine\n")
            #expect(try mount.hydrant(["conflicts", mount.mountPoint]).stdout == "no conflicts\n")
        }
    }

    @Test("360 pixels wide, dark and in German nothing sticks out")
    func looks() async throws {
        try await Self.with(seed: Self.documents) { mount in _ = try Self.walk("looks", mount) }
    }

    @Test("another site in the same browser, and a name that points here, get and change nothing")
    func strangers() async throws {
        try await Self.with(seed: Self.documents) { mount in
            _ = try Self.walk("strangers", mount)
            let names = try mount.run("ls")
            #expect(!names.contains("stranger"))
        }
    }

    @Test("one server for a user: another call prints another code for it; --stop ends it")
    func instance() async throws {
        try await Self.with(seed: Self.documents) { mount in
            func address() throws -> Address {
                let result = try mount.hydrant(["web", "--json"], limit: 60)
                return try JSONDecoder().decode(Address.self, from: Data(result.stdout.utf8))
            }
            let (first, second) = (try address(), try address())
            #expect(first.pid == second.pid && first.address != second.address)
            #expect(first.address.split(separator: "#")[0] == second.address.split(separator: "#")[0])
            let open = try mount.run(
                "stat -c %a \"$XDG_RUNTIME_DIR/hydrant/web\" \"$XDG_RUNTIME_DIR/hydrant/web/address.json\"")
            #expect(open == "700\n600\n")
            // A killed one is replaced.
            kill(first.pid, SIGKILL)
            try waitUntil(10, "it has ended") { !MountedStore.isAlive(first.pid) }
            let third = try address()
            #expect(third.pid != first.pid)
            let stop = try mount.hydrant(["web", "--stop"], limit: 60)
            #expect(stop.succeeded, "\(stop)")
            #expect(!MountedStore.isAlive(third.pid))
        }
    }
}
