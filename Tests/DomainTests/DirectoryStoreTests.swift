import Daemon
import DirectoryProvider
import FileProvider
import Foundation
import Glibc
import ItemCatalog
import Logging
import MountHarness
import Testing
import Trees

/// What a directory's provider knows of the time before it was started: by the catalog.
@Suite("A directory and its catalog") struct DirectoryStoreTests {
    /// A directory, and what happens to it while nothing is mounted.
    private final class Directory: Sendable {
        let path = NSTemporaryDirectory() + "directory-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func provider() throws -> DirectoryProvider {
            try DirectoryProvider(root: path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        @discardableResult
        func shell(_ command: String) throws -> String {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(filePath: "/bin/sh", directoryHint: .notDirectory)
            process.arguments = ["-ec", "cd '\(path)'; \(command)"]
            process.standardOutput = output
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "\(command)")
            return String(decoding: bytes, as: UTF8.self)
        }

        /// In place, with size and date as they were.
        func rewrite(_ name: String, _ text: String) throws {
            try shell(
                "touch -r \(name) .date; printf %s \(text) | dd of=\(name) conv=notrunc 2>/dev/null; touch -r .date \(name); rm .date"
            )
        }
    }

    @Test("a change while the domain is not mounted, with the same size and date, is noticed")
    func changedMeanwhile() async throws {
        let directory = try Directory()
        try directory.shell("printf first >a; printf first >b; printf first >c; printf first >d")
        try await withServing { sandbox in
            let first = try ServedDomain(try directory.provider(), sandbox, settle: 60)
            #expect(try first.run("cat a b c d; printf mine! >b") == "firstfirstfirstfirst")
            first.end()
            try directory.rewrite("a", "other")
            try directory.rewrite("b", "other")
            try directory.shell("mv c moved; chmod 600 d")

            let second = try ServedDomain(try directory.provider(), sandbox, settle: 0.1)
            defer { second.end() }
            try waitUntil(30, "what happened meanwhile") {
                try second.run("ls moved || true; stat -c %a d; cat a") == "moved\n600\nother"
            }
            for name: Filename in ["moved", "d"] {
                #expect(try second.catalog.read { try $0.resolve([name]) }.bytesPresent == 5)
            }
            // What was changed here as well is kept beside it.
            try second.sync()
            #expect(try directory.shell("cat b; cat b*copy*") == "othermine!")
        }
    }

    @Test("a document sent from here is compared when its change time differs, whatever the cause")
    func compared() async throws {
        let directory = try Directory()
        try await withServing { sandbox in
            let first = try ServedDomain(try directory.provider(), sandbox, settle: 0.1)
            try first.run("for name in a b c d; do printf first >$name; done")
            try first.sync()
            first.end()
            let second = try ServedDomain(try directory.provider(), sandbox, settle: 60)
            try second.run("printf mine! >c; printf mine! >d")
            second.end()
            try directory.shell("for name in a c; do chmod $(stat -c %a $name) $name; done")
            for name in ["b", "d"] {
                try directory.rewrite(name, "other")
                try directory.shell("chmod 600 \(name)")
            }

            let third = try ServedDomain(try directory.provider(), sandbox, settle: 0.1)
            defer { third.end() }
            try waitUntil(30, "what happened meanwhile") { try third.run("cat b") == "other" }
            #expect(try third.catalog.read { try $0.resolve(["a"]) }.bytesPresent == 5)
            try third.sync()
            #expect(try directory.shell("cat c; cat d; cat d*copy*; ls | wc -l") == "mine!othermine!5\n")
        }
    }

    @Test("an identifier that another user wrote into a file is not believed after a remount either")
    func theft() async throws {
        let directory = try Directory()
        try directory.shell("printf one >private; mkdir aaa shared; printf two >moving")
        try await withServing { sandbox in
            let first = try ServedDomain(try directory.provider(), sandbox, settle: 0.1)
            try first.run("ls -R; printf more >>private; printf more >>moving")
            try first.sync()
            let identifier = try blocking { try await first.domain.itemIdentifier(at: first.url("private")) }
            let inode = try first.catalog.read { try $0.resolve(["moving"]) }.id
            first.end()
            // Both were replaced from here. One goes elsewhere by itself; of the other somebody says that he has it.
            try directory.shell("mv moving shared/moved")
            let forged = try directory.shell(
                #"""
                for name in aaa/forged shared/forged; do
                    printf theirs >$name
                    seconds=$(stat -c %.9W $name); whole=${seconds%.*}; rest=${seconds#*.}
                    nanoseconds=$(printf %s "$rest" | sed 's/^0*//'); nanoseconds=${nanoseconds:-0}
                    setfattr -n user.hydrant.identity -v "\#(identifier.rawValue) $(stat -c %i $name):$whole.$nanoseconds" $name
                    getfattr --only-values -n user.hydrant.identity $name
                done
                """#)
            #expect(forged.contains(identifier.rawValue))

            let second = try ServedDomain(try directory.provider(), sandbox, settle: 0.1)
            defer { second.end() }
            try waitUntil(30, "what happened meanwhile") {
                try second.run("ls shared aaa") == "aaa:\nforged\n\nshared:\nforged\nmoved"
            }
            #expect(try second.run("cat private shared/moved aaa/forged shared/forged") == "onemoretwomoretheirstheirs")
            #expect(try second.catalog.read { try $0.resolve(["shared", "moved"]) }.id == inode)
            try second.run("printf secret >private")
            try second.sync()
            #expect(try directory.shell("cat private aaa/forged shared/forged") == "secrettheirstheirs")
        }
    }
}
