import FileProvider
import FileProviderTesting
import Glibc
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Identifiers on a server that has none.
@Suite struct IdentityTests {
    @Test(arguments: ["a", "a b", "ü", "a#2", "50%", "a%20b", "\u{1}", "e\u{301}"])
    func aPathIsToldFromItsIdentifier(_ name: String) {
        let name = Filename(name)
        let inRoot = PathIdentifier.make(in: .rootContainer, name)
        #expect(PathIdentifier.place(of: inRoot) == Place(parent: .rootContainer, name: name))
        let below = PathIdentifier.make(in: inRoot, name, number: 3)
        #expect(PathIdentifier.place(of: below) == Place(parent: inRoot, name: name))
        #expect(below != PathIdentifier.make(in: inRoot, name))
    }

    @Test func bytesThatAreNoTextStay() {
        let name = Filename(bytes: [0xff, 0x41])
        #expect(PathIdentifier.place(of: PathIdentifier.make(in: .rootContainer, name))?.name == name)
    }

    @Test func longPathsAreHashed() {
        var folder = ItemIdentifier.rootContainer
        for _ in 0..<10 { folder = PathIdentifier.make(in: folder, Filename(String(repeating: "n", count: 200))) }
        #expect(folder.rawValue.utf8.count < 1_024 && folder.rawValue.hasPrefix("h:"))
        #expect(PathIdentifier.place(of: folder) == nil)
        #expect(PathIdentifier.make(in: folder, "a") != PathIdentifier.make(in: folder, "b"))
    }

    @Test func ownNamesAreKnown() {
        #expect(Leftover(Leftover.uploadName()) == .upload)
        #expect(Leftover.folderName(for: "docs").flatMap { Leftover($0) } == .folder("docs"))
        #expect(Leftover.folderName(for: Filename(String(repeating: "n", count: 250))) == nil)
        for name in ["a", ".hydrant-upload-", ".hydrant-upload-xyz", ".hydrant-removed-0123456789abcdef-"] {
            #expect(Leftover(Filename(name)) == nil)
        }
    }

    /// A folder that lets go of its name gives its children new ones only where they would be others' now.
    @Test func aNameThatIsFreeAgainIsAnotherItem() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            func folder(_ name: Filename) async throws -> Item {
                try await provider.createItem(
                    ItemTemplate(
                        parentIdentifier: .rootContainer, filename: name, kind: .folder,
                        contentModificationDate: FileTime(seconds: 0)), contents: nil)
            }
            let first = try await folder("a")
            let moved = try await provider.moveItem(
                first.identifier, to: .rootContainer, as: "b", baseVersion: first.version)
            #expect(moved.identifier == first.identifier && moved.filename == "b")
            let second = try await folder("a")
            #expect(second.identifier != first.identifier)
            let names = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            #expect(Set(names.map { "\($0.filename) \($0.identifier)" }) == ["b /a", "a /a#2"])
            await provider.invalidate()
        }
    }

    @Test("leftovers of a crash are hidden, and removed after a day") func leftovers() async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            let old = server.root + "/.hydrant-upload-0123456789abcdef"
            let young = server.root + "/.hydrant-upload-0123456789abcdee"
            for path in [old, young] {
                let descriptor = open(path, O_CREAT | O_WRONLY, 0o666)
                close(descriptor)
            }
            var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
            #expect(utimes(old, &times) == 0)
            #expect(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.isEmpty)
            for _ in 0..<1_200 where access(old, F_OK) == 0 { try await Task.sleep(for: .milliseconds(50)) }
            #expect(access(old, F_OK) != 0 && access(young, F_OK) == 0)
            await provider.invalidate()
        }
    }
}
