import FileProvider
import FileProviderTesting
import Foundation
import HTTPTransport
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// What Nextcloud has beside documents: links, favourites and tags, the trash, and what others share; against a double
/// that answers as a Nextcloud did.
@Suite("WebDAV: Nextcloud's links, marks, trash and rights", .timeLimit(.minutes(10)))
struct CloudFeatureTests {
    private static func withProvider(
        mounts: String? = nil, at folder: String = "",
        _ body: (TestServer, WebDAVProvider) async throws -> Void
    ) async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        options.mounts = mounts
        try await withServer(.nextcloud, options) { server in
            if !folder.isEmpty { try Seeding(server.root).folder(folder) }
            let provider = try server.provider(at: server.url + folder)
            _ = try await provider.probe.traits()
            try await body(server, provider)
            await provider.invalidate()
        }
    }

    private static func item(
        _ path: String, _ provider: WebDAVProvider
    ) async throws -> Item {
        var found = try await provider.providePlaceholder(for: .rootContainer)
        for name in path.split(separator: "/") {
            let items = try await provider.enumerateItems(in: found.identifier, startingAt: nil).items
            found = try #require(items.first { $0.filename.string == name }, "\(path)")
        }
        return found
    }

    private static func code(_ body: () async throws -> Void) async -> FileProviderError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? FileProviderError)?.code }
    }

    // MARK: Links

    @Test("a link is made with its terms, listed and ended; another document has none of it", arguments: ["", "sub/"])
    func links(_ folder: String) async throws {
        try await Self.withProvider(at: folder) { server, provider in
            try Seeding(server.root).file(folder + "a b&c.txt", "one")
            try Seeding(server.root).file(folder + "other.txt", "two")
            try Seeding(server.root).folder(folder + "f")
            let document = try await Self.item("a b&c.txt", provider)
            let plain = try await provider.shareLink(to: document.identifier, terms: LinkTerms())
            #expect(plain.url.contains("/s/") && !plain.hasPassword && plain.until == nil && !plain.allowsEditing)
            let tomorrow = FileTime(seconds: Int64(Date().timeIntervalSince1970) + 3 * 86_400)
            let terms = LinkTerms(password: "correct horse & battery", until: tomorrow, allowsEditing: true)
            let edited = try await provider.shareLink(to: document.identifier, terms: terms)
            let end = try #require(edited.until)
            #expect(edited.hasPassword && edited.allowsEditing, "\(edited)")
            #expect(end <= tomorrow && end.seconds > tomorrow.seconds - 86_400, "the day begins before the moment")
            let folder = try await Self.item("f", provider)
            let upload = try await provider.shareLink(to: folder.identifier, terms: LinkTerms(allowsEditing: true))
            #expect(upload.allowsEditing)
            let all = try await provider.sharedLinks(to: document.identifier)
            #expect(Set(all.map(\.identifier)) == [plain.identifier, edited.identifier])
            #expect(all.first { $0.identifier == edited.identifier } == edited)
            let other = try await Self.item("other.txt", provider)
            #expect(try await provider.sharedLinks(to: other.identifier).isEmpty)
            let refused = await Self.code {
                try await provider.endSharedLink(plain.identifier, to: other.identifier)
            }
            #expect(refused == .noSuchItem, "a link of another document is not ended by mistake")
            try await provider.endSharedLink(plain.identifier, to: document.identifier)
            #expect(try await provider.sharedLinks(to: document.identifier) == [edited])
            let again = await Self.code {
                try await provider.endSharedLink(plain.identifier, to: document.identifier)
            }
            #expect(again == .noSuchItem)
        }
    }

    @Test("terms that the server refuses make no link, and its reason reaches the user") func refusedTerms()
        async throws
    {
        try await Self.withProvider { server, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            for terms in [LinkTerms(password: "short"), LinkTerms(until: FileTime(seconds: 1_000_000))] {
                await #expect {
                    _ = try await provider.shareLink(to: item.identifier, terms: terms)
                } throws: {
                    let message = ($0 as? FileProviderError)?.message ?? ""
                    return message.contains("at least 8 characters") || message.contains("in the past")
                }
            }
            #expect(try await provider.sharedLinks(to: item.identifier).isEmpty)
            try RealFileSystem(root: server.root).unlink("a")
            let gone = await Self.code { _ = try await provider.shareLink(to: item.identifier, terms: LinkTerms()) }
            #expect(gone == .noSuchItem)
        }
    }

    @Test("links of an ownCloud, which answers in JSON only when the URL says so") func linksOfOwnCloud() async throws {
        try await Self.withProvider { server, provider in
            try server.tell("shares", #"{"xml": true}"#)
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            let link = try await provider.shareLink(to: item.identifier, terms: LinkTerms(allowsEditing: true))
            #expect(link.allowsEditing)
            #expect(try await provider.sharedLinks(to: item.identifier) == [link])
            try await provider.endSharedLink(link.identifier, to: item.identifier)
            #expect(try await provider.sharedLinks(to: item.identifier).isEmpty)
        }
    }

    private static func withProxy(
        _ body: (TestServer, FaultProxy, WebDAVProvider) async throws -> Void
    ) async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        try await withServer(.nextcloud, options) { server in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            _ = try await provider.probe.traits()
            let result: Result<Void, any Error>
            do { result = .success(try await body(server, proxy, provider)) } catch { result = .failure(error) }
            await provider.invalidate()
            try result.get()
        }
    }

    private static func page(_ status: String) -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
    }

    @Test(
        "a link whose answer is lost, or cannot be read, does not stay",
        arguments: [
            FaultProxy.Fault.cut(10), .cut(0), .replyAfterwards(""), .replyAfterwards(page("200 OK")),
            .replyAfterwards(page("504 Gateway Timeout")),
        ])
    func lostLink(_ fault: FaultProxy.Fault) async throws {
        try await Self.withProxy { server, proxy, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            let before = try await provider.shareLink(to: item.identifier, terms: LinkTerms())
            proxy.inject(fault, into: "POST", path: "/shares")
            await #expect {
                _ = try await provider.shareLink(to: item.identifier, terms: LinkTerms())
            } throws: {
                ($0 as? FileProviderError)?.message.contains("the link that was made is ended") == true
            }
            #expect(try await provider.sharedLinks(to: item.identifier) == [before])
            #expect(proxy.requests.count { $0.hasPrefix("POST") } == 2, "each request makes a link")
        }
    }

    @Test("where nobody can say whether there is a link, the error says so") func unknownLink() async throws {
        try await Self.withProxy { server, proxy, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            proxy.inject(.reset, into: "POST", path: "/shares")
            await #expect {
                _ = try await provider.shareLink(to: item.identifier, terms: LinkTerms())
            } throws: {
                ($0 as? FileProviderError)?.message.contains("a link may have been made") == true
            }
        }
    }

    @Test("a link that nobody waits for any more does not stay") func cancelledLink() async throws {
        try await Self.withProxy { server, proxy, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            proxy.inject(.late(0.5), into: "POST", path: "/shares")
            let sharing = Task { try await provider.shareLink(to: item.identifier, terms: LinkTerms()) }
            while !proxy.requests.contains(where: { $0.hasPrefix("POST") }) {
                try await Task.sleep(for: .milliseconds(5))
            }
            sharing.cancel()
            await #expect {
                _ = try await sharing.value
            } throws: {
                ($0 as? FileProviderError)?.code == .cancelled
            }
            #expect(proxy.requests.contains { $0.hasPrefix("DELETE") })
            #expect(try await provider.sharedLinks(to: item.identifier).isEmpty)
        }
    }

    @Test("a link without a term that the server ignores is taken back", arguments: ["password", "expireDate"])
    func ignoredTerm(_ term: String) async throws {
        try await Self.withProvider { server, provider in
            try server.tell("shares", #"{"ignores": ["\#(term)"]}"#)
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            let day = FileTime(seconds: Int64(Date().timeIntervalSince1970) + 3 * 86_400)
            await #expect {
                _ = try await provider.shareLink(
                    to: item.identifier, terms: LinkTerms(password: "correct horse", until: day))
            } throws: {
                ($0 as? FileProviderError)?.message.hasSuffix("; no link was made") == true
            }
            #expect(try await provider.sharedLinks(to: item.identifier).isEmpty)
        }
    }

    // MARK: Favourites and tags

    @Test("a refusal of the favourites that passes is no reason to ask no more") func refusedMarks() async throws {
        try await Self.withProxy { server, proxy, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            proxy.inject(.reply(Self.page("403 Forbidden")), into: "REPORT")
            _ = try await provider.folderVersion(of: .rootContainer)
            let before = try await provider.folderVersion(of: .rootContainer)
            _ = try await provider.setFavorite(true, of: item.identifier)
            #expect(try await provider.folderVersion(of: .rootContainer) != before)
            // A server that has no such question is asked once.
            proxy.inject(.reply(Self.page("415 Unsupported Media Type")), into: "REPORT")
            _ = try await provider.folderVersion(of: .rootContainer)
            let count = proxy.requests.count { $0.hasPrefix("REPORT") }
            _ = try await provider.folderVersion(of: .rootContainer)
            #expect(proxy.requests.count { $0.hasPrefix("REPORT") } == count)
        }
    }

    /// A request of another client, with the account's password.
    private static func send(
        _ provider: WebDAVProvider, _ method: String, _ path: String, _ type: String = "application/json",
        body: String = ""
    ) async throws -> Int {
        let names = path.split(separator: "/").map { Array($0.utf8) }
        let place = HTTPLocation(origin: provider.root.origin, components: names, isFolder: false)
        let request = HTTPRequest(method, place, headers: [("Content-Type", type)], body: .bytes(Array(body.utf8)))
        return try await provider.client.send(request).status
    }

    @Test("favourites come with listings, and go to the server; tags come too; both change the folder's version")
    func marks() async throws {
        try await Self.withProvider { server, provider in
            try Seeding(server.root).file("f/a", "one")
            try Seeding(server.root).file("f/b", "two")
            let item = try await Self.item("f/a", provider)
            #expect(provider.keepsFavorites && !item.isFavorite && item.tags.isEmpty)
            let versions = { () async throws -> String? in try await provider.folderVersion(of: .rootContainer) }
            let before = try await versions()
            #expect(try await versions() == before)
            let marked = try await provider.setFavorite(true, of: item.identifier)
            #expect(marked.isFavorite && marked.version.content == item.version.content)
            #expect(marked.version.metadata != item.version.metadata)
            let after = try await versions()
            #expect(after != before, "others learn of it, though no folder's tag changes")
            #expect(try await Self.item("f/a", provider) == marked)
            #expect(try await !Self.item("f/b", provider).isFavorite)
            let folder = try await Self.item("f", provider)
            #expect(try await provider.setFavorite(true, of: folder.identifier).isFavorite)
            #expect(try await !provider.setFavorite(false, of: item.identifier).isFavorite)
            // A tag with a name that is markup.
            let number = item.identifier.rawValue.dropFirst(2)
            let tags = "remote.php/dav/systemtags"
            for name in ["urgent", "R&D <x>"] {
                #expect(try await Self.send(provider, "POST", tags, body: #"{"name": "\#(name)"}"#) == 201)
            }
            let untagged = try await versions()
            for tag in [1, 2] {
                #expect(try await Self.send(provider, "PUT", "\(tags)-relations/files/\(number)/\(tag)") == 201)
            }
            #expect(try await versions() != untagged)
            #expect(try await Set(Self.item("f/a", provider).tags) == ["urgent", "R&D <x>"])
            #expect(try await Self.item("f/b", provider).tags.isEmpty)
        }
    }

    @Test("marks cost a listing no further request") func requests() async throws {
        var options = ServerOptions()
        options.wantsPassword = true
        try await withServer(.nextcloud, options) { server in
            let proxy = try FaultProxy(to: server)
            defer { proxy.end() }
            let provider = try server.provider(at: "http://localhost:\(proxy.port)\(server.path)")
            for number in 1...20 { try Seeding(server.root).file("f/\(number)", "text") }
            let item = try await Self.item("f/1", provider)
            _ = try await provider.setFavorite(true, of: item.identifier)
            let before = proxy.requests.count
            let items = try await provider.enumerateItems(in: item.parentIdentifier, startingAt: nil).items
            #expect(items.count == 20 && items.count(where: \.isFavorite) == 1)
            #expect(proxy.requests.count == before + 1, "\(proxy.requests.dropFirst(before))")
            await provider.invalidate()
        }
    }

    @Test("another server is not asked for what only Nextcloud has") func others() async throws {
        try await withServer(.rclone) { server in
            let provider = try server.provider()
            _ = try await provider.probe.traits()
            let question = String(decoding: provider.client.question(DAVProperty.ofFolders), as: UTF8.self)
            #expect(!question.contains("favorite") && !question.contains("tags"))
            #expect(!provider.keepsFavorites)
            let links = await Self.code { _ = try await provider.sharedLinks(to: .rootContainer) }
            let trash = await Self.code { _ = try await provider.trashedItems() }
            #expect(links == .unsupported && trash == .unsupported)
            await provider.invalidate()
        }
    }

    // MARK: The trash

    @Test("the trash is listed, and items come back: to their place, under another name, or to the top")
    func trash() async throws {
        try await Self.withProvider { server, provider in
            try Seeding(server.root).file("f/a.txt", "one")
            try Seeding(server.root).file("g/inner", "two")
            #expect(try await provider.trashedItems().isEmpty)
            let item = try await Self.item("f/a.txt", provider)
            try await provider.trashItem(item.identifier, baseVersion: item.version)
            let trashed = try #require(try await provider.trashedItems().first)
            #expect(trashed.path == ["f", "a.txt"] && trashed.kind == .document && trashed.size == 3)
            #expect(abs((trashed.deleted?.seconds ?? 0) - Int64(Date().timeIntervalSince1970)) < 60)
            #expect(try await provider.restoreTrashedItem(trashed.identifier) == ["f", "a.txt"])
            let back = try await Self.item("f/a.txt", provider)
            #expect(back.identifier == item.identifier, "it is the same document")
            let twice = await Self.code { _ = try await provider.restoreTrashedItem(trashed.identifier) }
            #expect(twice == .noSuchItem)
            // Its name is taken.
            try await provider.trashItem(back.identifier, baseVersion: back.version)
            try Seeding(server.root).file("f/a.txt", "newer")
            let second = try #require(try await provider.trashedItems().first)
            #expect(try await provider.restoreTrashedItem(second.identifier) == ["f", "a (restored).txt"])
            #expect(try Seeding(server.root).text("f/a.txt") == "newer")
            #expect(try Seeding(server.root).text("f/a (restored).txt") == "one")
            // A folder comes back with all that was in it when another client deleted it.
            #expect(try await Self.send(provider, "DELETE", "remote.php/dav/files/alice/g") == 204)
            let folder = try #require(try await provider.trashedItems().first)
            #expect(folder.kind == .folder && folder.path == ["g"])
            #expect(try await provider.restoreTrashedItem(folder.identifier) == ["g"])
            #expect(try Seeding(server.root).text("g/inner") == "two")
        }
    }

    @Test("of a mounted folder, only what was in it is listed; another item keeps its place") func trashOfFolder()
        async throws
    {
        try await Self.withProvider(at: "sub/") { server, provider in
            try Seeding(server.root).file("sub/mine", "one")
            try Seeding(server.root).file("other", "two")
            for name in ["sub/mine", "other"] {
                #expect(try await Self.send(provider, "DELETE", "remote.php/dav/files/alice/\(name)") == 204)
            }
            let items = try await provider.trashedItems()
            #expect(items.map(\.path) == [["mine"]])
            let id = try #require(items.first?.identifier)
            #expect(try await provider.restoreTrashedItem(id) == ["mine"])
            for name in ["..", "a/b", "", "nothing.d1"] {
                let code = await Self.code { _ = try await provider.restoreTrashedItem(name) }
                #expect(code == .noSuchItem, "\(name)")
            }
        }
    }

    @Test("an item whose new place the server does not tell is restored all the same") func restoredSomewhere()
        async throws
    {
        try await Self.withProxy { server, proxy, provider in
            try Seeding(server.root).file("a", "one")
            let item = try await Self.item("a", provider)
            try await provider.trashItem(item.identifier, baseVersion: item.version)
            let trashed = try #require(try await provider.trashedItems().first)
            proxy.inject(.reply(Self.page("500 Internal Server Error")), into: "SEARCH", times: 1_000)
            #expect(try await provider.restoreTrashedItem(trashed.identifier) == nil)
            #expect(try Seeding(server.root).text("a") == "one")
        }
    }

    @Test("of a trash with more items than fit, those that were deleted last remain") func newestTrash() {
        var trash = NewestTrash(most: 3)
        for second in [5, 1, 9, 3, 8, 2, 7, 4, 6] as [Int64] {
            trash.add(
                TrashEntry(
                    identifier: "\(second)", path: ["a"], kind: .document, size: 0, deleted: FileTime(seconds: second)))
        }
        trash.add(TrashEntry(identifier: "unknown", path: ["a"], kind: .document, size: 0, deleted: nil))
        #expect(trash.entries.map(\.identifier) == ["9", "8", "7"])
        var few = NewestTrash(most: 3)
        few.add(TrashEntry(identifier: "one", path: ["a"], kind: .document, size: 0, deleted: nil))
        #expect(few.entries.map(\.identifier) == ["one"])
    }

    // MARK: What comes from elsewhere

    private static let mounts = #"""
        {"Read only": {"type": "shared", "permissions": 1}, "read only.txt": {"type": "shared", "permissions": 1},
         "To edit": {"type": "shared", "permissions": 15}, "Group": {"type": "group", "permissions": 31, "quota": 1000},
         "Disk": {"type": "external", "permissions": 1}}
        """#

    @Test("what others share, group folders and external storages have the rights that the server keeps to")
    func rights() async throws {
        try await Self.withProvider(mounts: Self.mounts) { server, provider in
            for name in ["Read only", "To edit", "Group", "Disk"] { try Seeding(server.root).file("\(name)/a", "text") }
            try Seeding(server.root).file("read only.txt", "text")
            func rights(_ path: String) async throws -> ItemCapabilities {
                try await Self.item(path, provider).capabilities
            }
            // (The share can be left: deleting its topmost item is allowed.)
            #expect(try await rights("read only.txt") == [.reading, .deleting])
            #expect(try await rights("Read only") == [.reading, .writing, .deleting])
            #expect(try await rights("Read only/a") == .readOnly)
            #expect(try await rights("To edit") == .all)
            #expect(try await rights("To edit/a") == [.reading, .writing, .renaming, .deleting])
            #expect(try await rights("Group") == [.reading, .writing, .addingSubItems])
            #expect(try await rights("Group/a") == [.reading, .writing, .renaming, .deleting])
            #expect(try await rights("Disk") == [.reading, .writing])
            #expect(try await rights("Disk/a") == .readOnly)
            // The server says other letters in an item's own answer; the rights are the same.
            for path in ["read only.txt", "Read only", "To edit", "Group", "Disk"] {
                let listed = try await Self.item(path, provider)
                let own = try await provider.providePlaceholder(for: listed.identifier)
                #expect(own.capabilities == listed.capabilities && own.version == listed.version, "\(path)")
            }
            // What the rights say is what the server does.
            let document = try await Self.item("Read only/a", provider)
            let refused = await Self.code {
                _ = try await provider.itemChanged(
                    document.identifier, contents: BytesSource([1]),
                    metadata: ItemMetadata(contentModificationDate: FileTime(seconds: 1_700_000_000)),
                    baseVersion: document.version)
            }
            #expect(refused == .permissionDenied)
            #expect(
                try await provider.setFavorite(true, of: document.identifier).isFavorite, "favourites are one's own")
        }
    }

    @Test("the quota is that of the mounted folder") func quota() async throws {
        try await Self.withProvider(mounts: Self.mounts, at: "Group/") { server, provider in
            try Seeding(server.root).file("outside", String(repeating: "x", count: 5_000))
            try Seeding(server.root).file("Group/a", String(repeating: "x", count: 400))
            let quota = try await provider.quota()
            #expect(quota == StoreQuota(used: 400, total: 1_000))
            let refused = await Self.code {
                _ = try await provider.createItem(
                    ItemTemplate(
                        parentIdentifier: .rootContainer, filename: "big", kind: .document,
                        contentModificationDate: FileTime(seconds: 1_700_000_000)), contents: BytesSource(noise(2_000)))
            }
            #expect(refused == .insufficientQuota)
        }
    }
}
