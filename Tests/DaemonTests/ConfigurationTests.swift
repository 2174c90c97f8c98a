import ControlAPI
import DocumentServices
import FileProvider
import Foundation
import Logging
import SyncEngine
import Testing
import Trees

@testable import Daemon

@Suite("The configuration that the command hands over to a daemon")
struct ConfigurationTests {
    private static var configuration: DaemonConfiguration {
        DaemonConfiguration(store: "zip:a.zip", mountPoint: "/mnt", workingDirectory: "/home/ada")
    }

    @Test("every field arrives")
    func arrives() throws {
        var sent = Self.configuration
        sent.stateDirectory = "/state"
        try sent.setMount(
            options: ["allow_other,context=a\\,b", "ro"], readOnly: true, uid: "12", gid: "13", umask: "027")
        try sent.setCacheLimit("10G")
        try sent.setMinimumFree("5%")
        try sent.exclude(["*.iso"], besidesDefaults: true)
        sent.times.settle = 0.5
        sent.logLevel = .debug
        sent.passthrough = false
        let data = try JSONEncoder().encode(sent)
        let got = try DaemonHandover.decode(data)
        // All of it: whatever is added later as well.
        #expect(try JSONEncoder.sorted.encode(got) == JSONEncoder.sorted.encode(sent))
        #expect((got.uid, got.gid, got.umask, got.isReadOnly) == (12, 13, 0o027, true))
        #expect(got.mountOptions == ["allow_other", "context=a\\,b"])
        #expect(got.exclusions.match("a.iso") && got.exclusions.match("a~"))
        #expect(got.cache == sent.cache && got.times.settle == 0.5 && got.workingDirectory == "/home/ada")
    }

    @Test("a daemon of another release says so; other data is not accepted as a configuration")
    func otherVersion() throws {
        let other = Data(#"{"version": 99, "what": "nobody knows"}"#.utf8)
        #expect { try DaemonHandover.decode(other) } throws: {
            "\($0)".contains("another release") && "\($0)".contains("99") && !"\($0)".contains("\n")
        }
        for text in ["", "[]", "{}", #"{"version": "1"}"#] {
            #expect { try DaemonHandover.decode(Data(text.utf8)) } throws: { "\($0)".contains("not a configuration") }
        }
        let empty = Data(#"{"version": \#(DaemonConfiguration.currentVersion)}"#.utf8)
        #expect { try DaemonHandover.decode(empty) } throws: { "\($0)".contains("cannot be read") }
    }

    @Test(
        "contradictory options and meaningless options are refused",
        arguments: [
            Given(["rw"], readOnly: true), Given(["ro,rw"]), Given(["rw", "ro"]), Given(["uid=2"], uid: "1"),
            Given(["umask=077"], umask: "022"), Given(["gid=1,gid=2"]), Given(["subtype=x"]), Given(["uid="]),
            Given(uid: "no such user"), Given(gid: "-1"), Given(uid: "4294967295"), Given(umask: "888"),
            Given(umask: "1777"), Given(umask: ""),
        ])
    func contradictions(given: Given) {
        #expect(throws: DaemonError.self) { try given.taken() }
    }

    @Test("options that agree are accepted from either place; options for the kernel are passed on")
    func composed() throws {
        #expect(try Given(["uid=1,ro"], readOnly: true, uid: "1").taken().uid == 1)
        #expect(try Given(["ro"]).taken().isReadOnly)
        #expect(try !Given(["rw,umask=0"]).taken().isReadOnly)
        #expect(try Given(["umask=0"]).taken().umask == 0)
        #expect(try Given(uid: "root", gid: "root").taken().uid == 0)
        #expect(try Given(["allow_other,max_read=4096"]).taken().mountOptions == ["allow_other", "max_read=4096"])
    }

    @Test("impossible times and rates are refused")
    func impossibleNumbers() throws {
        for text in ["1e300", "inf", "nan", "-1", "1e19"] {
            var configuration = Self.configuration
            configuration.takeTuning(
                from: Dictionary(
                    uniqueKeysWithValues: ["SETTLE", "SETTLE_AFTER_SYNC", "READ_TIMEOUT", "STOP_PROVIDING", "POLL"].map
                    {
                        ("HYDRANT_" + $0, text)
                    }))
            let (times, usual) = (configuration.times, SyncTimes())
            #expect(times.settle == usual.settle && times.settleAfterSync == usual.settleAfterSync, "\(text)")
            #expect(times.readTimeout == usual.readTimeout && times.poll == usual.poll, "\(text)")
            #expect(times.stopProviding == usual.stopProviding, "\(text)")
            #expect(throws: DaemonError.self) { try DaemonConfiguration.rate(text, of: "--limit-download") }
            #expect(throws: DaemonError.self) { try configuration.setCacheLimit(text) }
            #expect(throws: DaemonError.self) { try configuration.setMinimumFree(text) }
            #expect(throws: DaemonError.self) { try configuration.setMinimumFree(text + "%") }
            #expect(throws: DaemonError.self) { try configuration.setHold(text) }
        }
        #expect(throws: DaemonError.self) { try DaemonConfiguration.rate("1025T", of: "--limit-download") }
        #expect(try DaemonConfiguration.rate("1024T", of: "--limit-download") == 1 << 50)
    }

    @Test("the sum of impossible document sizes stops at the largest number")
    func sums() {
        let tally = Tally()
        for _ in 0..<2_000 { tally.found(Item.largestSize) }
        for _ in 0..<2_000 {
            tally.begin("x", Item.largestSize)
            tally.finish()
        }
        let progress = tally.progress([]) { _ in fatalError() }
        #expect((progress.bytes, progress.bytesTotal) == (.max, .max))
    }

    @Test(
        "the valid names of domains",
        arguments: ["", ".", "..", ".x", "-x", "a/b", "a b", "ä", String(repeating: "x", count: 101)])
    func badDomain(name: String) throws {
        var configuration = Self.configuration
        #expect(throws: DaemonError.self) { try configuration.setDomain(name) }
        try configuration.setDomain("Work-2.b_c")
        #expect(configuration.domain == "Work-2.b_c")
        configuration.stateDirectory = "/state"
        #expect(throws: DaemonError.self) { try configuration.setDomain("work") }
    }

    struct Given: Sendable, CustomTestStringConvertible {
        var options: [String]
        var readOnly: Bool
        var uid: String?
        var gid: String?
        var umask: String?

        init(
            _ options: [String] = [], readOnly: Bool = false, uid: String? = nil, gid: String? = nil,
            umask: String? = nil
        ) {
            (self.options, self.readOnly) = (options, readOnly)
            (self.uid, self.gid, self.umask) = (uid, gid, umask)
        }

        func taken() throws -> DaemonConfiguration {
            var configuration = ConfigurationTests.configuration
            try configuration.setMount(options: options, readOnly: readOnly, uid: uid, gid: gid, umask: umask)
            return configuration
        }

        var testDescription: String {
            "\(options) read-only \(readOnly) uid \(uid ?? "–") gid \(gid ?? "–") umask \(umask ?? "–")"
        }
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
