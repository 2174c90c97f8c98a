import Foundation
import Notices
import Testing

@Suite("Notices: started with the session")
struct AutostartTests {
    @Test("the entry quotes the program; % and $ have no meaning")
    func quoting() {
        let entry = Autostart.entry(#"/opt/50% of $HOME/a "b"\hydrant"#)
        #expect(entry.contains(#"Exec="/opt/50%% of \\$HOME/a \\"b\\"\\\\hydrant" notify"# + "\n"))
    }

    @Test("installed, again, and removed; somebody else's entry stays")
    func roundTrip() throws {
        let folder = NSTemporaryDirectory() + "hydrant-autostart-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let autostart = try #require(Autostart(["XDG_CONFIG_HOME": folder]))
        #expect(try !autostart.remove())
        try autostart.install("/usr/bin/hydrant")
        try autostart.install("/usr/local/bin/hydrant")
        let text = try String(contentsOfFile: autostart.path, encoding: .utf8)
        #expect(text.contains("Exec=\"/usr/local/bin/hydrant\" notify\n"))
        #expect(try autostart.remove() && !FileManager.default.fileExists(atPath: autostart.path))
        try Data("[Desktop Entry]\nHidden=true\n".utf8).write(to: URL(filePath: autostart.path))
        #expect(throws: NoticeFailure.self) { try autostart.install("/usr/bin/hydrant") }
        #expect(throws: NoticeFailure.self) { try autostart.remove() }
        #expect(try String(contentsOfFile: autostart.path, encoding: .utf8).contains("Hidden=true"))
    }
}
