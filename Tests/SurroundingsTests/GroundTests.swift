import Foundation
import Surroundings
import Testing

@Suite struct HashTests {
    /// Source: the test vectors of its authors (isthe.com/chongo/tech/comp/fnv).
    @Test(arguments: [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")])
    func stable(_ text: String, _ hash: String) {
        #expect(StableHash(text.utf8).text == hash)
    }

    @Test func bytesAddUpHoweverTheyCome() {
        var hash = StableHash()
        hash.add("foo".utf8)
        hash.add("bar".utf8)
        #expect(hash.value == StableHash("foobar".utf8).value)
    }

    @Test func digits() {
        #expect([0, 0x0f, 0xa0, 0xff].hexadecimal == "000fa0ff")
        #expect([UInt8]().hexadecimal == "")
    }
}

@Suite struct SystemFileTests {
    @Test func aFileOfTheKernelIsReadToItsEnd() throws {
        let own = try #require(ProcessStatus.name(of: getpid()))
        #expect(SystemFile.text("/proc/self/comm") == own + "\n")
        #expect(SystemFile.read("/proc/self/status", most: 5) == Array("Name:".utf8))
        #expect(SystemFile.text("/proc/self/maps").utf8.count > 1 << 12)
        #expect(SystemFile.read("/proc/self/nothing") == nil)
    }

    @Test func namesAndLinks() throws {
        let names = try #require(SystemFile.names(in: "/proc/self/task"))
        #expect(names.contains("\(getpid())") && !names.contains("."))
        #expect(SystemFile.names(in: "/proc/nothing") == nil && errno == ENOENT)
        #expect(SystemFile.link("/proc/self") == "\(getpid())")
        #expect(SystemFile.link("/proc") == nil)
    }

    @Test("the fields of /proc/PID/stat are read from the state on, whatever the command's name") func status() throws {
        let fields = try #require(ProcessStatus.fields(of: getpid()))
        #expect(["R", "S", "D"].contains(fields[0]) && Int32(fields[1]) == getppid())
        #expect(ProcessStatus.fields(of: 0) == nil)
    }
}

@Suite struct SmallFileTests {
    private let folder = NSTemporaryDirectory() + "small-\(UUID().uuidString)"

    @Test(arguments: [true, false]) func replaced(isDurable: Bool) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for text in ["one", "two"] {
            try SmallFile.replace(folder + "/file", with: Data(text.utf8), isDurable: isDurable)
            #expect(SystemFile.text(folder + "/file") == text)
        }
        var status = stat()
        #expect(stat(folder + "/file", &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(throws: SmallFile.Failure.self) {
            try SmallFile.replace(folder + "/none/file", with: Data(), isDurable: isDurable)
        }
        // A folder cannot be replaced by a file; nothing is left beside it.
        #expect(mkdir(folder + "/folder", 0o700) == 0)
        #expect(throws: SmallFile.Failure.self) {
            try SmallFile.replace(folder + "/folder", with: Data(), isDurable: isDurable)
        }
        #expect(SystemFile.names(in: folder).map(Set.init) == ["file", "folder"])
    }
}
