import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Synchronization
import Testing

@testable import hydrant_provider_zip

@Suite("A ZIP archive: downloads, and replacement")
struct DownloadTests {
    @Test("every range has the right bytes, in any order of requests", arguments: [true, false])
    func ranges(isPacked: Bool) async throws {
        try await withArchives { archives in
            try archives.python(
                """
                data = noise(1500000) + b"again " * 50000
                make("a.zip", (info("x", packed=\(isPacked ? "True" : "False")), data))
                write("x", data)
                """)
            let bytes = try Seeding(archives.sandbox.scratch).read("x")
            let provider = try archives.provider("a.zip")
            let item = try #require(try archives.tree(provider)["x"])
            #expect(item.size == Int64(bytes.count))
            let end = bytes.count
            for range in [
                0..<1, 1..<300_000, 300_000..<600_000, 100..<200, end - 1..<end, 0..<end, 700_000..<700_001,
                262_144..<524_288,
            ] {
                let got = try archives.download(provider, item, Int64(range.lowerBound)..<Int64(range.upperBound))
                #expect(got == Array(bytes[range]), "\(range)")
            }
        }
    }

    @Test("many downloads at once, and lookups between them")
    func concurrent() async throws {
        try await withArchives { archives in
            try archives.python(#"make("a.zip", *[(f"{n}", bytes([n]) * (400000 + n)) for n in range(8)])"#)
            let provider = try archives.provider("a.zip")
            let tree = try archives.tree(provider)
            try blocking {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (name, item) in tree {
                        for start in [0, 200_000] as [Int64] {
                            group.addTask {
                                let sink = CollectingSink(range: start..<item.size)
                                try await provider.startProvidingItem(
                                    item.identifier, version: item.version.content, range: sink.range, into: sink)
                                let byte = try #require(UInt8(name))
                                #expect(sink.bytes?.allSatisfy { $0 == byte } == true)
                            }
                        }
                        group.addTask { _ = try await provider.providePlaceholder(for: item.identifier) }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test("a cancelled download ends, also while it skips")
    func cancelled() async throws {
        try await withArchives { archives in
            try archives.python(#"make("a.zip", ("x", bytes(64 << 20)))"#)
            let provider = try archives.provider("a.zip")
            let item = try #require(try archives.tree(provider)["x"])
            let code = try blocking { () async throws -> FileProviderError.Code? in
                let task = Task {
                    let sink = CollectingSink(range: item.size - 1..<item.size)
                    try await provider.startProvidingItem(
                        item.identifier, version: item.version.content, range: sink.range, into: sink)
                }
                task.cancel()
                do {
                    try await task.value
                    return nil
                } catch { return (error as? FileProviderError)?.code }
            }
            #expect(code == .cancelled)
        }
    }

    @Test("a replaced archive has other versions and the same identifiers, and refuses old versions")
    func replaced() async throws {
        try await withArchives { archives in
            try archives.python(
                #"make("a.zip", ("x", b"one"), ("gone", b"g"), ("turns", b"document"), ("same", b"same"))"#)
            let provider = try archives.provider("a.zip")
            let old = try archives.tree(provider)
            let signals = provider.changeSignals()
            try archives.python(
                #"make("b.zip", ("x", b"two"), ("turns/in", b"x"), ("same", b"same")); os.replace("b.zip", "a.zip")"#)
            let signal = try blocking {
                var iterator = signals.makeAsyncIterator()
                return await iterator.next()
            }
            #expect(signal == .everything)
            let new = try archives.tree(provider)
            let (x, was) = (try #require(new["x"]), try #require(old["x"]))
            #expect(x.identifier == was.identifier && x.version.content != was.version.content)
            #expect(new["turns/"]?.identifier != old["turns"]?.identifier)
            let error = archives.failure(provider, was)
            #expect(error?.code == .versionMismatch && error?.item == x)
            #expect(archives.failure(provider, try #require(old["gone"]))?.code == .noSuchItem)
            #expect(try archives.download(provider, x) == Array("two".utf8))
        }
    }

    @Test("an archive replaced during a download: no byte of the new archive")
    func replacedMeanwhile() async throws {
        try await withArchives { archives in
            try archives.python(
                #"make("a.zip", (info("x", packed=False), noise(2 << 20))); make("b.zip", ("x", b"other"))"#)
            let provider = try archives.provider("a.zip")
            let item = try #require(try archives.tree(provider)["x"])
            let (from, to) = (archives.path("b.zip"), archives.path("a.zip"))
            let sink = InterruptingSink { _ = rename(from, to) }
            let code = try blocking { () async throws -> FileProviderError.Code? in
                do {
                    try await provider.startProvidingItem(
                        item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
                    return nil
                } catch { return (error as? FileProviderError)?.code }
            }
            #expect(code == .versionMismatch && sink.count == 1)
        }
    }

    @Test("while the archive is away nothing counts as deleted; the provider continues when it is back")
    func away() async throws {
        try await withArchives { archives in
            try archives.python(#"make("a.zip", ("x", b"one"))"#)
            let provider = try archives.provider("a.zip")
            let item = try #require(try archives.tree(provider)["x"])
            for program in [
                #"os.rename("a.zip", "b.zip")"#, #"write("a.zip", b"PK\3\4 half of an archive, being written")"#,
            ] {
                try archives.python(program)
                #expect(archives.failure(provider, item)?.code == .serverUnreachable)
                let error = #expect(throws: FileProviderError.self) { try archives.tree(provider) }
                #expect(error?.code == .serverUnreachable)
            }
            try archives.python(#"os.rename("b.zip", "a.zip")"#)
            #expect(try archives.download(provider, item) == Array("one".utf8))
        }
    }
}

/// Does something after the first piece.
private final class InterruptingSink: ContentSink {
    private let written = Mutex(0)
    private let act: @Sendable () -> Void
    init(_ act: @escaping @Sendable () -> Void) { self.act = act }
    var count: Int { written.withLock { $0 } }

    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        written.withLock { $0 += 1 }
        act()
    }
}
