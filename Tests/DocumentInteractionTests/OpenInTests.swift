import Foundation
import Testing

@testable import DocumentInteraction

@Suite("Command lines and icons")
struct OpenInTests {
    private func words(_ exec: String, _ path: String = "/a b/ü.txt") throws -> [String] {
        let program = OpenInProgram(
            id: "org.example.app-one.desktop", name: "App", icon: "app-icon", rank: .alternate, surface: .window,
            exec: exec, entry: "/x/app.desktop", folder: nil, isActivatedOverDBus: false)
        return try ExecLine.words(program, path: path)
    }

    @Test("codes of a desktop entry are expanded as the specification says")
    func codes() throws {
        #expect(try words("app %f") == ["app", "/a b/ü.txt"])
        #expect(try words("app %U") == ["app", "file:///a%20b/%C3%BC.txt"])
        #expect(try words("app --file=%f -x") == ["app", "--file=/a b/ü.txt", "-x"])
        #expect(try words("app") == ["app", "/a b/ü.txt"])
        #expect(
            try words("\"my app\" %i %c %k 100%% %m %F") == [
                "my app", "--icon", "app-icon", "App", "/x/app.desktop", "100%", "/a b/ü.txt",
            ])
        #expect(try words("sh -c 'x \"$1\"' sh %f", "/$(touch x)") == ["sh", "-c", "x \"$1\"", "sh", "/$(touch x)"])
        #expect(throws: DocumentInteractionError.self) { try words("app 'open") }
        #expect(throws: DocumentInteractionError.self) { try words("") }
        #expect(
            try ExecLine.words(OpenInProgram(executable: "/o d/a%f\"$x"), path: "/p") == ["/o d/a%f\"$x", "/p"])
        let program = OpenInProgram(
            id: "org.example.app-one.desktop", name: "App", icon: nil, rank: .owner, surface: .window, exec: "",
            entry: nil, folder: nil, isActivatedOverDBus: true)
        #expect(BusActivation.path(of: program) == "/org/example/app_one")
    }

    @Test("icons: the exact size, else the nearest; a theme, its parents, hicolor; a better name goes first")
    func icons() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hydrant-icons-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ path: String, _ text: String = "") throws {
            let url = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        func index(_ inherits: String, _ directories: String...) -> String {
            "[Icon Theme]\nName=x\nInherits=\(inherits)\nDirectories=\(directories.joined(separator: ","))\n"
        }
        try file(
            "two/Mine/index.theme",
            index("Parent,Mine", "16/m", "scalable/m")
                + "[16/m]\nSize=16\nType=Fixed\n[scalable/m]\nSize=64\nType=Scalable\nMinSize=32\nMaxSize=512\n")
        try file("two/Parent/index.theme", index("Mine", "48x48/m") + "[48x48/m]\nSize=48\n")
        try file("one/Mine/16/m/text-x.png")
        try file("two/Mine/scalable/m/text-x.svg")
        try file("two/Parent/48x48/m/text-y.png")
        try file("two/Mine/16/m/text-generic.png")
        try file("one/hicolor/48x48/mimetypes/text-z.png")
        try file("two/loose.png")
        let bases = ["one", "two"].map { folder.appending(path: $0).path(percentEncoded: false) }
        let theme = IconTheme(named: "Mine", folders: bases)
        func found(_ names: String..., sizes: [Int]) -> [String] {
            let icons = theme.icons(names, sizes: sizes)
            return sizes.map { icons[$0]?.lastPathComponent ?? "-" }
        }
        #expect(
            found("text-x", sizes: [16, 48, 20, 1_024]) == ["text-x.png", "text-x.svg", "text-x.png", "text-x.svg"])
        #expect(found("text-y", "text-generic", sizes: [16, 48]) == ["text-y.png", "text-y.png"])
        #expect(found("text-z", "text-generic", sizes: [16]) == ["text-z.png"])
        #expect(found("text-0", "text-generic", sizes: [256]) == ["text-generic.png"])
        #expect(found("loose", sizes: [32]) == ["loose.png"])
        #expect(found("none", "../two/loose", sizes: [32]) == ["-"])
        #expect(IconTheme(named: "none", folders: bases).icons(["text-x"], sizes: [16]).isEmpty)
    }
}
