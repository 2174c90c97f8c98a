import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// Servers that send more than anybody can take, and listings with entries that nothing can be made of.
@Suite("WebDAV: hostile servers", .timeLimit(.minutes(5)))
struct HostileServerTests {
    static let head = "HTTP/1.1 207 Multi-Status\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    static let start = #"<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">"#

    static func entry(_ href: String, _ properties: String) -> String {
        "<D:response><D:href>\(href)</D:href><D:propstat><D:prop>\(properties)</D:prop>"
            + "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
    }
    static let folder = entry("/dav/", "<D:resourcetype><D:collection/></D:resourcetype>")
    static func document(_ href: String, size: String) -> String {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        return entry(href, "<D:getlastmodified>\(date)</D:getlastmodified><D:getetag>\"a\"</D:getetag>\(size)")
    }
    static func size(_ text: String) -> String { "<D:getcontentlength>\(text)</D:getcontentlength>" }

    static func answer(_ entries: String...) -> FaultProxy.Fault { answer(entries) }

    static func answer(_ entries: [String]) -> FaultProxy.Fault {
        let body = start + entries.joined() + "</D:multistatus>"
        return .reply(head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    }

    static func withProxy(
        _ adjust: (inout WebDAVSettings) -> Void = { _ in },
        _ body: (FaultProxy, WebDAVProvider) async throws -> Void
    ) async throws {
        try await withServer(.apache) { server in
            try Seeding(server.root).file("good", "good")
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)/dav/", adjust)
            // The first look at the server is over.
            _ = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            try await body(proxy, provider)
            await provider.invalidate()
        }
    }

    private static func listingError(_ provider: WebDAVProvider) async -> FileProviderError? {
        do throws(FileProviderError) {
            _ = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            return nil
        } catch { return error }
    }

    // MARK: Too much

    @Test("an endless listing is refused after a limit of entries") func entries() async throws {
        try await Self.withProxy({ $0.mostEntries = 1_000 }) { proxy, provider in
            let again = Self.document("/dav/x", size: Self.size("1"))
            proxy.inject(.endless(Self.head + "\r\n" + Self.start + Self.folder, again: again), into: "PROPFIND")
            let error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")
            #expect(error?.message.contains("more than 1000 entries") == true, "\(error as Any)")
            #expect(await Self.listingError(provider) == nil)
        }
    }

    @Test("an endless entry is refused after a limit of bytes", .timeLimit(.minutes(2)))
    func endlessEntry() async throws {
        try await Self.withProxy { proxy, provider in
            let open = "<D:response><D:href>/dav/x</D:href><D:propstat><D:prop>"
            let beginning = Self.head + "\r\n" + Self.start + Self.folder + open
            proxy.inject(.endless(beginning, again: "<D:getetag>x</D:getetag>"), into: "PROPFIND")
            let error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")
            #expect(error?.message.contains("no entry ends within 256 KiB") == true, "\(error as Any)")
        }
    }

    @Test("a listing that drips is ended after its time limit", arguments: ["<D:x/>", " "])
    func time(_ again: String) async throws {
        try await Self.withProxy({ $0.http.listingTimeout = 1 }) { proxy, provider in
            proxy.inject(
                .endless(Self.head + "\r\n" + Self.start + Self.folder, again: again, pause: 20), into: "PROPFIND")
            let error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")
            #expect(error?.message.contains("did not end within") == true, "\(error as Any)")
        }
    }

    @Test("a reply to a change that drips does not delay the change", .timeLimit(.minutes(10)))
    func changes() async throws {
        try await Self.withProxy { proxy, provider in
            let head = "HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n"
            proxy.inject(.endless(head, again: "x", pause: 100), into: "MKCOL")
            let template = ItemTemplate(
                parentIdentifier: .rootContainer, filename: "new", kind: .folder,
                contentModificationDate: FileTime(seconds: 0))
            await #expect(throws: FileProviderError.self) {
                _ = try await provider.createItem(template, contents: nil)
            }
        }
    }

    @Test("a compressed reply, which we did not ask for, is not unpacked") func compressed() async throws {
        try await Self.withProxy { proxy, provider in
            // (100 MiB of zeros.)
            let bytes = Array("H4sIAAAAAAACA+3BMQEAAADCoPVPbQ0PoAAAAAAAAAAA".utf8)
            let body = String(decoding: bytes, as: UTF8.self)
            let gzip = "Content-Encoding: gzip\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            proxy.inject(.reply(Self.head + gzip + body), into: "PROPFIND")
            let error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")
            #expect(error?.message.contains("compressed (gzip)") == true, "\(error as Any)")

            let item = try #require(
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
            proxy.inject(.reply("HTTP/1.1 200 OK\r\nConnection: close\r\n" + gzip + body), into: "GET")
            do throws(FileProviderError) {
                try await provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<4,
                    into: CollectingSink(range: 0..<4))
                Issue.record("it was taken")
            } catch {
                #expect(error.code == .cannotSynchronize && error.message.contains("compressed"), "\(error)")
            }
        }
    }

    @Test("a document stored compressed on the server is downloaded as it is") func encodedDocument() async throws {
        try await Self.withProxy { proxy, provider in
            let item = try #require(
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.first)
            proxy.inject(.rewrite("Content-Length: ", "Content-Encoding: x-gzip\r\nContent-Length: "), into: "GET")
            let sink = CollectingSink(range: 0..<4)
            try await provider.startProvidingItem(
                item.identifier, version: item.version.content, range: 0..<4, into: sink)
            #expect(sink.bytes == Array("good".utf8))
        }
    }

    // MARK: Bad entries

    @Test(
        "one bad entry alone is left out, with a reason",
        arguments: [
            (document("/dav/bad", size: ""), "bad", "the server does not say its size"),
            (document("/dav/bad", size: size("")), "bad", "the server does not say its size"),
            (document("/dav/bad", size: size("-1")), "bad", "its size is negative"),
            (document("/dav/bad", size: size("many")), "bad", "its size is not a number"),
            (document("/dav/100%", size: size("1")), "100%", "its address is not a percent-encoded path"),
            (
                document("http://elsewhere.invalid/dav/bad", size: size("1")), "bad",
                "its address is on another server, http://elsewhere.invalid"
            ),
            (document("/etc/bad", size: size("1")), "bad", "its address, /etc/bad, is not in this folder"),
        ])
    func badEntry(_ bad: String, _ name: String, _ reason: String) async throws {
        try await Self.withProxy { proxy, provider in
            proxy.inject(
                Self.answer(Self.folder, bad, Self.document("/dav/good", size: Self.size("4"))), into: "PROPFIND")
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.items.map(\.filename) == ["good"])
            #expect(page.leftOut == [LeftOutItem(filename: Filename(name), reason: reason)])
        }
    }

    @Test("a folder with entries that cannot be shown is not empty") func deletingAFolder() async throws {
        try await withServer(.apache) { server in
            try Seeding(server.root).file("folder/bad", "bad")
            chmod(server.root + "/folder", 0o777)
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)/dav/")
            let items = try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items
            let folder = try #require(items.first)
            let own = Self.entry("/dav/folder/", "<D:resourcetype><D:collection/></D:resourcetype>")
            proxy.inject(Self.answer(own), into: "PROPFIND", path: "/dav/folder")
            proxy.inject(
                Self.answer(own, Self.document("/dav/folder/bad", size: "")), into: "PROPFIND", path: "/dav/folder")
            do throws(FileProviderError) {
                try await provider.deleteItem(folder.identifier, baseVersion: folder.version)
                Issue.record("it was deleted")
            } catch { #expect(error.code == .directoryNotEmpty, "\(error)") }
            #expect(try Seeding(server.root).text("folder/bad") == "bad")
            await provider.invalidate()
        }
    }

    @Test("a server that uses another URL for itself throughout a listing is understood") func otherName() async throws
    {
        try await Self.withProxy { proxy, provider in
            let inside = "http://backend.invalid"
            let folder = Self.entry("\(inside)/dav/", "<D:resourcetype><D:collection/></D:resourcetype>")
            proxy.inject(
                Self.answer(folder, Self.document("\(inside)/dav/good", size: Self.size("4"))), into: "PROPFIND")
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(page.items.map(\.filename) == ["good"] && page.leftOut.isEmpty)
        }
    }

    @Test("an unusable listing is not a missing folder, and the error says why") func unusable() async throws {
        try await Self.withProxy { proxy, provider in
            proxy.inject(Self.answer(Self.document("/remote/good", size: Self.size("4"))), into: "PROPFIND")
            var error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")
            #expect(error?.message.contains("another address (“/remote/good”)") == true, "\(error as Any)")
            proxy.inject(Self.answer(), into: "PROPFIND")
            error = await Self.listingError(provider)
            #expect(error?.code == .cannotSynchronize, "\(error as Any)")

            proxy.inject(.reply("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), into: "PROPFIND", times: 9)
            error = await Self.listingError(provider)
            #expect(error?.code == .noSuchItem, "\(error as Any)")
            #expect(error?.message.contains("the server no longer has this folder") == true, "\(error as Any)")
        }
    }
}
