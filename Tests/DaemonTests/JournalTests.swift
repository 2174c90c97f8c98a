import Foundation
import Logging
import Testing

@testable import Daemon

/// A journal of the test's own: the socket that systemd's has.
private final class Journal {
    let path = "/tmp/hydrant-journal-\(UInt32.random(in: 0 ... .max))"
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { [path] in $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Empty() }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    struct Empty: Error {}

    /// The next message, as the protocol is written down at systemd.io.
    func next() throws -> [String: String] {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { throw Empty() }
        var rest = buffer[..<count]
        var fields: [String: String] = [:]
        while !rest.isEmpty {
            let end = try #require(rest.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") })
            let name = String(decoding: rest[..<end], as: UTF8.self)
            let isLong = rest[end] == UInt8(ascii: "\n")
            rest = rest[(end + 1)...]
            var length = try #require(rest.firstIndex(of: UInt8(ascii: "\n"))) - rest.startIndex
            if isLong {
                length = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(8)
            }
            fields[name] = String(decoding: rest.prefix(length), as: UTF8.self)
            rest = rest.dropFirst(length)
            guard rest.popFirst() == UInt8(ascii: "\n") else { throw Empty() }
        }
        return fields
    }
}

@Suite("The log in systemd's journal")
struct JournalTests {
    @Test("a message has its priority, its metadata as fields, and a readable text")
    func fields() throws {
        let journal = try Journal()
        let socket = try #require(JournalSocket(path: journal.path))
        var handler = JournalLogHandler(label: "hydrant", identifier: "hydrant-provider-zip", socket: socket)
        handler.logLevel = .debug
        handler[metadataKey: "domain"] = "work"
        let logger = Logger(label: "hydrant") { _ in handler }
        logger.warning("cannot send", metadata: ["item": "a=b.txt", "retry-in": "4 s"])
        let got = try journal.next()
        #expect(got["MESSAGE"] == "cannot send domain=work item=a=b.txt retry-in=4 s")
        #expect(got["PRIORITY"] == "4")
        #expect(got["SYSLOG_IDENTIFIER"] == "hydrant-provider-zip")
        #expect(got["HYDRANT_ITEM"] == "a=b.txt" && got["HYDRANT_RETRY_IN"] == "4 s" && got["HYDRANT_DOMAIN"] == "work")
        #expect(got["CODE_FILE"]?.contains("JournalTests") == true)
        logger.trace("not wanted")
        #expect(throws: Journal.Empty.self) { try journal.next() }
    }

    @Test("a message of several lines stays one")
    func lines() throws {
        let journal = try Journal()
        let socket = try #require(JournalSocket(path: journal.path))
        let logger = Logger(label: "x") { JournalLogHandler(label: $0, identifier: "hydrant", socket: socket) }
        logger.error("one\ntwo\u{1b}[2J", metadata: ["what": "three\n\nPRIORITY=0\n"])
        let got = try journal.next()
        #expect(got["MESSAGE"] == "one\ntwo\\x1b[2J what=three\n\nPRIORITY=0\n")
        #expect(got["HYDRANT_WHAT"] == "three\n\nPRIORITY=0\n" && got["PRIORITY"] == "3")
    }

    @Test("no journal when nobody listens, or when standard error is another file")
    func elsewhere() throws {
        #expect(JournalSocket(path: "/tmp/hydrant-no-such-socket") == nil)
        var status = stat()
        try #require(fstat(2, &status) == 0)
        #expect(JournalSocket.isStandardError(named: "\(status.st_dev):\(status.st_ino)"))
        #expect(!JournalSocket.isStandardError(named: "\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!JournalSocket.isStandardError(named: nil) && !JournalSocket.isStandardError(named: "x"))
    }

    @Test("secrets are removed from messages, metadata and errors of every logger")
    func secrets() throws {
        let journal = try Journal()
        let socket = try #require(JournalSocket(path: journal.path))
        let secrets = Secrets.hidden(in: "//ada:s3cret-pw@host").secrets
        let logger = Logger(label: "x") {
            ScrubbingLogHandler(JournalLogHandler(label: $0, identifier: "hydrant", socket: socket), secrets)
        }
        logger.error(
            "no answer from //ada:s3cret-pw@host", error: DaemonError("s3cret-pw is wrong"),
            metadata: ["url": ["s3cret-pw", "x"]])
        let got = try journal.next()
        #expect(got["MESSAGE"]?.hasPrefix("no answer from //ada:…@host") == true)
        #expect(!got.values.contains { $0.contains("s3cret") } && got["HYDRANT_URL"]?.contains("x") == true)
    }
}
