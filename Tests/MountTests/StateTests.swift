import ControlAPI
import Foundation
import Glibc
import MountHarness
import Testing

@Suite("State on disk")
struct StateTests {
    private static func mode(_ path: String) throws -> UInt32 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw HarnessError("\(path): \(String(cString: strerror(errno)))") }
        return status.st_mode & 0o7777
    }

    @Test("the state directory is 0700, the socket 0600 in a directory 0700")
    func modes() async throws {
        try await withSandbox { mount in
            // Even when somebody made it otherwise.
            try Seeding(mount.sandbox.path).folder("state")
            chmod(mount.sandbox.state, 0o755)
            umask(0o022)
            try mount.mount()
            #expect(try Self.mode(mount.sandbox.state) == 0o700)
            #expect(try Self.mode(mount.sandbox.runtime + "/hydrant") == 0o700)
            let sockets = try Seeding(mount.sandbox.runtime).names("hydrant").filter { $0.hasSuffix(".sock") }
            #expect(sockets.count == 1)
            #expect(try Self.mode(mount.sandbox.runtime + "/hydrant/" + (sockets.first ?? "")) == 0o600)
            try mount.unmount()
            #expect(try Seeding(mount.sandbox.runtime).names("hydrant").filter { $0.hasSuffix(".sock") } == [])
        }
    }

    @Test("without --state-dir it is under $XDG_DATA_HOME/hydrant/domains/NAME, 0700")
    func defaultPlace() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "x\n")
            let result = try mount.hydrant(["mount", "dir:\(mount.store)", mount.mountPoint])
            #expect(result.succeeded)
            let domains = mount.sandbox.path + "/data/hydrant/domains"
            let names = try Seeding(domains).names()
            #expect(names.count == 1)
            #expect(names.first?.hasPrefix("dir-store-") == true)
            #expect(try Self.mode(domains + "/" + (names.first ?? "")) == 0o700)
            let text = try mount.run("cat doc.txt")
            #expect(text == "x\n")
            // The same store has the same state again.
            try mount.unmount()
            #expect(try mount.hydrant(["mount", "dir:\(mount.store)/", mount.mountPoint]).succeeded)
            #expect(try Seeding(domains).names() == names)
            #expect(try mount.status("doc.txt").state == .downloaded)
            try mount.unmount()
        }
    }

    @Test("another user cannot use the socket's directory")
    func otherUser() async throws {
        try await withMount { mount in
            chmod(mount.sandbox.path, 0o755)
            let result = try mount.sandbox.run(
                [
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "ls",
                    mount.sandbox.runtime + "/hydrant",
                ], limit: 5)
            #expect(!result.succeeded && result.stderr.contains("denied"))
        }
    }

    @Test(
        "inode numbers, identifiers and downloaded bytes survive a remount, also after kill -9",
        arguments: [false, true])
    func inodes(_ isKilled: Bool) async throws {
        try await withMount { store in
            for number in 0..<20 { try Seeding(store).file("folder \(number % 3)/doc \(number)", "number \(number)\n") }
        } _: { mount in
            try mount.run("echo new > made; mkdir folder; ln -s made link; cat 'folder 0/doc 0'")
            try mount.sync()
            let list = "find . -mindepth 1 -printf '%P %i %s %Ts\\n' | sort"
            let before = try mount.run(list)
            #expect(before.split(separator: "\n").count == 26)
            let status = try mount.statuses(["folder 0/doc 0", "folder 1/doc 1", "made"])
            if isKilled { try mount.kill9() } else { try mount.unmount() }
            try mount.mount()
            #expect(try mount.run(list) == before)
            #expect(try mount.statuses(["folder 0/doc 0", "folder 1/doc 1", "made"]) == status)
            #expect(status.map(\.state) == [.downloaded, .placeholder, .downloaded])
        }
    }

    @Test("changes in the store while nothing was mounted show after the next mount")
    func changedMeanwhile() async throws {
        try await withMount { store in
            try Seeding(store).file("edited.txt", "old\n")
            try Seeding(store).file("deleted.txt", "x\n")
            try Seeding(store).file("sub/deep.txt", "old\n")
        } _: { mount in
            try mount.run("ls -lR; cat edited.txt sub/deep.txt")
            try mount.unmount()
            let seeding = Seeding(mount.store)
            try seeding.file("edited.txt", "new text\n")
            try seeding.file("sub/deep.txt", "new deep text\n")
            try seeding.file("sub/made.txt", "made\n")
            try RealFileSystem(root: mount.store).unlink("deleted.txt")
            try mount.mount()
            try waitUntil(2, "store and mount are the same") { try mount.difference() == nil }
            let text = try mount.run("cat edited.txt sub/deep.txt sub/made.txt")
            #expect(text == "new text\nnew deep text\nmade\n")
        }
    }

    @Test("an empty directory in the store's place (its disk is not mounted) is not taken for the store")
    func emptyStore() async throws {
        try await withSandbox { mount in
            try Seeding(mount.store).file("doc.txt", "kept\n")
            try mount.mount()
            try mount.run("cat doc.txt")
            try mount.unmount()
            try mount.sandbox.run(
                ["bash", "-c", "mv \"$STORE\" \"$STORE.away\"; mkdir \"$STORE\""], limit: 10
            ).required()
            let refused = try mount.hydrant(mount.mountCommand())
            #expect(!refused.succeeded && refused.stderr.contains("is its disk mounted?"), "\(refused)")
            try mount.sandbox.run(
                ["bash", "-c", "rmdir \"$STORE\"; mv \"$STORE.away\" \"$STORE\""], limit: 10
            ).required()
            try mount.mount()
            #expect(try mount.run("cat doc.txt") == "kept\n")
            // Emptied by others while it is the same directory: that is a change like any other.
            try mount.unmount()
            try mount.sandbox.run(["bash", "-c", "rm \"$STORE/doc.txt\""], limit: 10).required()
            try mount.mount()
            try waitUntil(3, "it is gone") { try RealFileSystem(root: mount.mountPoint).names() == [] }
        }
    }
}

extension ChildResult {
    fileprivate func required() throws {
        if !succeeded { throw HarnessError("\(self)") }
    }
}
