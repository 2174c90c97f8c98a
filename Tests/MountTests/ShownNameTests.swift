import ControlAPI
import Foundation
import MountHarness
import Testing

/// Names that would do something to a terminal, or pass for a line of ours.
@Suite("Names that speak to the terminal")
struct ShownNameTests {
    static let name = "a\u{1b}[2J\u{9b}1m\neverything is in the store\r\u{202e}.txt"
    static let shown = "a\\x1b[2J\\x9b1m\\neverything is in the store\\r\\u{202e}.txt"

    @Test("characters that stand for bytes in a path are escaped in a name, and not taken for those bytes")
    func charactersForBytes() async throws {
        let name = "b\u{10fe1b}\u{10fe5b}2J\u{10fe0a}x\u{10fec2}\u{10fe9b}1m"
        try await withMount { store in
            try Seeding(store).file(name, "x\n")
        } _: { mount in
            let path = mount.mountPoint + "/" + name
            for arguments in [
                ["status", path], ["status", "--json", path], ["download", path], ["evict", path + "x"],
            ] {
                let result = try mount.hydrant(arguments)
                Self.check(result.stdout + "\n" + result.stderr, arguments[0])
                #expect(!result.stdout.contains("\nx"), "\(arguments): \(result)")
            }
            let events = try mount.hydrant(["events", "--last", "50", "--no-follow", mount.mountPoint])
            Self.check(events.stdout, "events")
        }
    }

    private static func check(_ text: String, _ what: String, _ location: SourceLocation = #_sourceLocation) {
        let raw = text.unicodeScalars.filter { ["\u{1b}", "\u{9b}", "\r", "\u{202e}"].contains($0) }
        #expect(raw.isEmpty, "\(what): \(text)", sourceLocation: location)
        #expect(
            !text.split(separator: "\n").contains { $0.hasPrefix("everything") }, "\(what): \(text)",
            sourceLocation: location)
    }

    @Test("status, download, evict, events, errors, log and pending changes show names escaped; JSON has them whole")
    func shown() async throws {
        let options = MountOptions.with {
            $0.arguments = ["--log-level", "trace"]
            $0.limit = 60
        }
        try await withMount(options) { store in
            try Seeding(store).file(Self.name, "x\n")
        } _: { mount in
            let path = mount.mountPoint + "/" + Self.name
            func run(_ arguments: String..., status: Int32 = 0, saysName: Bool = true) throws {
                let result = try mount.hydrant(arguments)
                let what = arguments[0]
                #expect(result.status == status, "\(what): \(result)")
                Self.check(result.stdout + "\n" + result.stderr, what)
                if saysName {
                    #expect((result.stdout + result.stderr).contains(Self.shown), "\(what): \(result)")
                }
            }
            try run("status", path)
            try run("download", path)
            try run("pin", path)
            try run("unpin", path)
            try run("evict", path)
            try run("events", "--last", "50", "--no-follow", mount.mountPoint)
            try run("pause", mount.mountPoint, saysName: false)
            try mount.python("write(os.listdir('.')[0], b'changed')")
            try run("evict", path, status: 1)
            try run("sync", mount.mountPoint, status: 75)
            try run("retry", "--timeout", "1", path, status: 75)
            try run("discard", "--dry-run", path)
            try run("save", path, mount.scratch)
            try run("save", path, mount.scratch, status: 1)
            try run("bookmark", "resolve", path, status: 1, saysName: false)
            try run("evict", path + "\u{7}none", status: 1)
            try run("resolve", path, "--keep", "both", status: 1)
            try Seeding(mount.scratch).folder("other")
            try run("mount", "dir:\(mount.store)/\(Self.name)", mount.scratch + "/other", status: 1, saysName: false)
            // Programs get the name.
            let json = try mount.hydrant(["status", "--json", path])
            Self.check(json.stdout, "status --json")
            #expect(try mount.status(Self.name).path == path)
            try run("unmount", mount.mountPoint)
            try run("doctor", mount.sandbox.state, saysName: false)
            try run("rescue", mount.sandbox.state, mount.scratch + "/rescued")
            let log = try String(contentsOfFile: mount.sandbox.log, encoding: .utf8)
            Self.check(log, "log")
            #expect(log.contains("\\x1b[2J"))
        }
    }
}
