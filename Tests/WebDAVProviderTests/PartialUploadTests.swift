import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import Synchronization
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Large documents on their way to an Apache, which keeps the part that has arrived.
@Suite("WebDAV: large documents, sent in one piece and continued", .timeLimit(.minutes(5)))
struct PartialUploadTests {
    private static let size = 8 << 20
    private static let middle = Int64(size / 2)

    /// Contents that somebody looks at, or breaks off, while they are read for sending.
    private struct WatchedSource: ContentSource {
        let bytes: [UInt8]
        var before: @Sendable (Int64) async throws(FileProviderError) -> Void = { _ in }
        let first = Box<Int64?>(nil)
        var size: Int64 { Int64(bytes.count) }

        final class Box<Value: Sendable>: Sendable {
            let value: Mutex<Value>
            init(_ value: sending Value) { self.value = Mutex(value) }
        }

        /// The first offset that was read for sending.
        var began: Int64? { first.value.withLock { $0 } }

        func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
            first.value.withLock { if $0 == nil { $0 = offset } }
            try await before(offset)
            return try await BytesSource(bytes).read(at: offset, upTo: count)
        }

        func readLocally(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
            try await before(offset)
            return try await BytesSource(bytes).read(at: offset, upTo: count)
        }
    }

    private static func template(_ seconds: Int64 = 1_700_000_000) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: "big", kind: .document,
            contentModificationDate: FileTime(seconds: seconds))
    }

    private static func parts(_ server: TestServer) -> [Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: server.root)) ?? []
        return names.filter { $0.hasPrefix(".hydrant-upload-") }
            .map { (try? FileManager.default.attributesOfItem(atPath: server.root + "/" + $0)[.size] as? Int) ?? 0 }
    }

    private static func withProvider(_ body: (TestServer, WebDAVProvider) async throws -> Void) async throws {
        try await withServer(.apache) { server in
            let provider = try server.provider()
            try await body(server, provider)
            await provider.invalidate()
        }
    }

    private static func eventually(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<3_000 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    @Test("the server has the beginning before the end has been read: nothing reads all of it first")
    func beginsAtOnce() async throws {
        try await Self.withProvider { server, provider in
            let bytes = noise(Self.size)
            let wasThere = Mutex(false)
            let source = WatchedSource(bytes: bytes) { offset async throws(FileProviderError) in
                guard offset >= Self.middle, !wasThere.withLock({ $0 }) else { return }
                let isThere = (try? await Self.eventually { Self.parts(server).contains { $0 > 0 } }) ?? false
                wasThere.withLock { $0 = isThere }
                if !isThere { throw FileProviderError(.cannotSynchronize, "the server has nothing yet") }
            }
            let item = try await provider.createItem(Self.template(), contents: source)
            #expect(item.size == source.size)
            #expect(try Seeding(server.root).read("big") == bytes)
        }
    }

    /// The part that an interrupted upload of `bytes` has left.
    private static func leave(_ part: some Collection<UInt8>, of bytes: [UInt8], _ server: TestServer) throws {
        let location = try #require(HTTPLocation(server.url)).appending(Array("big".utf8))
        let name = PartialUpload.name(
            location, Int64(bytes.count), FileTime(seconds: 1_700_000_000),
            Array(bytes.prefix(PartialUpload.beginningSize))
        )
        try Seeding(server.root).file(name.string, Array(part))
    }

    @Test("bytes that an earlier upload has left are used only if they are the beginning", arguments: [true, false])
    func goesOn(isRight: Bool) async throws {
        try await Self.withProvider { server, provider in
            _ = try await provider.probe.traits()
            let bytes = noise(Self.size)
            try Self.leave(isRight ? bytes[..<(1 << 20)] : noise(1 << 20, seed: 9)[...], of: bytes, server)
            let source = WatchedSource(bytes: bytes)
            let item = try await provider.createItem(Self.template(), contents: source)
            #expect(item.size == source.size)
            #expect(source.began == (isRight ? 1 << 20 : 0))
            #expect(try Seeding(server.root).read("big") == bytes)
            #expect(try Seeding(server.root).names() == ["big"])
        }
    }

    @Test(
        "a part that goes away before it is continued is sent again",
        arguments: ["404 Not Found", "412 Precondition Failed"])
    func goneMeanwhile(status: String) async throws {
        try await withServer(.apache) { server in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)/dav/")
            _ = try await provider.probe.traits()
            let bytes = noise(Self.size)
            try Self.leave(bytes[..<(1 << 20)], of: bytes, server)
            proxy.inject(
                .reply("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), into: "PUT",
                path: ".hydrant-upload-")
            _ = try await provider.createItem(Self.template(), contents: BytesSource(bytes))
            #expect(try Seeding(server.root).read("big") == bytes)
            await provider.invalidate()
        }
    }

    @Test("another document, or another date, is another part")
    func names() throws {
        let location = try #require(HTTPLocation("http://localhost/dav/")).appending(Array("big".utf8))
        let names: Set = [
            PartialUpload.name(location, 9, FileTime(seconds: 1), [1]),
            PartialUpload.name(location, 8, FileTime(seconds: 1), [1]),
            PartialUpload.name(location, 9, FileTime(seconds: 2), [1]),
            PartialUpload.name(location, 9, FileTime(seconds: 1), [2]),
            PartialUpload.name(location.appending(Array("a".utf8)), 9, FileTime(seconds: 1), [1]),
        ]
        #expect(names.count == 5)
    }

    @Test("of a document that is changed while it is sent, no part stays on the server")
    func changed() async throws {
        try await Self.withProvider { server, provider in
            _ = try await provider.probe.traits()
            let bytes = noise(Self.size)
            // (Apache itself removes what a broken request made, but not what was there before.)
            try Self.leave(bytes[..<(1 << 20)], of: bytes, server)
            let source = WatchedSource(bytes: bytes) { offset async throws(FileProviderError) in
                guard offset >= Self.middle else { return }
                _ = try? await Self.eventually { Self.parts(server).contains { $0 > 1 << 20 } }
                throw FileProviderError(.cancelled, "A test changed it.")
            }
            await #expect(throws: FileProviderError.self) {
                _ = try await provider.createItem(Self.template(), contents: source)
            }
            #expect(try await Self.eventually { Self.parts(server).isEmpty })
            #expect(try Seeding(server.root).names() == [])
        }
    }
}
