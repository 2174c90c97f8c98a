import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import Synchronization
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// A listing is handed on while it comes, in parts.
@Suite("WebDAV: listings in parts", .timeLimit(.minutes(5)))
struct ListingPartsTests {
    private typealias Answers = HostileServerTests

    /// What the catalog would know: what a test tells it.
    private final class Knowing: FileProviderDomain {
        private let items = Mutex<[Item]>([])
        func learn(_ new: [Item]) { items.withLock { $0 += new } }

        private func known(_ isWanted: (Item) -> Bool) -> [KnownItem] {
            items.withLock { $0.filter(isWanted) }.map {
                KnownItem(
                    identifier: $0.identifier, parentIdentifier: $0.parentIdentifier, filename: $0.filename,
                    isFolder: $0.kind.isFolder, size: $0.size, contentVersion: $0.version.content)
            }
        }
        func knownItem(_ identifier: ItemIdentifier) async throws(FileProviderError) -> KnownItem? {
            known { $0.identifier == identifier }.first
        }
        func knownItems(_ identifiers: [ItemIdentifier]) async throws(FileProviderError) -> [KnownItem] {
            let wanted = Set(identifiers)
            return known { wanted.contains($0.identifier) }
        }
        func knownItems(in folder: ItemIdentifier) async throws(FileProviderError) -> [KnownItem] {
            known { $0.parentIdentifier == folder }
        }
        func knownItem(
            named name: Filename, in folder: ItemIdentifier
        ) async throws(FileProviderError) -> KnownItem? {
            known { $0.parentIdentifier == folder && $0.filename == name }.first
        }
        func knownDocuments(having versions: Set<ContentVersion>) async throws(FileProviderError) -> [KnownItem] {
            known { versions.contains($0.version.content) }
        }

        // Nobody asks for these here.
        let providerIdentifier = "test"
        let documentStorageURL = URL(filePath: "/no/mount", directoryHint: .isDirectory)
        private static let unknown = FileProviderError(.noSuchItem, "there is no mount")
        func catalogIdentifierForItem(at url: URL) async throws(FileProviderError) -> ItemIdentifier {
            throw Self.unknown
        }
        func urlForItem(withCatalogIdentifier identifier: ItemIdentifier) async throws(FileProviderError) -> URL {
            throw Self.unknown
        }
        func itemIdentifier(at url: URL) async throws(FileProviderError) -> ItemIdentifier { throw Self.unknown }
        func url(of identifier: ItemIdentifier) async throws(FileProviderError) -> URL { throw Self.unknown }
        func relativePath(of url: URL) throws(FileProviderError) -> [Filename] { throw Self.unknown }
        func url(relativePath path: [Filename]) -> URL { documentStorageURL }
        func placeholderURL(for url: URL) -> URL { url }
        func writePlaceholder(
            at url: URL, withMetadata item: Item, thumbnail: Thumbnail?
        ) async throws(FileProviderError) { throw Self.unknown }
    }

    /// Each with a tag and a size of its own.
    private static func document(_ name: String, _ number: Int) -> String {
        let tag = "<D:getetag>\"t\(number)\"</D:getetag>"
        return Answers.entry("/dav/" + name, tag + Answers.size("\(number + 1)"))
    }
    private static func name(_ number: Int) -> String { String(format: "n%05d", number) }
    private static func documents(_ numbers: Range<Int>) -> [String] { numbers.map { document(name($0), $0) } }

    private static func pages(
        _ provider: WebDAVProvider, each: (ItemPage) throws -> Void = { _ in }
    ) async throws -> [Item] {
        var items: [Item] = []
        var page: Page?
        repeat {
            let next = try await provider.enumerateItems(in: .rootContainer, startingAt: page)
            try each(next)
            items += next.items
            page = next.nextPage
        } while page != nil
        return items
    }

    private static func eventually(_ condition: () -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        while start.duration(to: .now) < .seconds(120) {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private static func listing(_ name: Filename) -> ListingStream.Part {
        var part = ListingStream.Part()
        part.listing.leftOut = [(name, "")]
        return part
    }

    // MARK: The stream

    @Test("at most one part waits to be taken") func stream() async throws {
        let stream = ListingStream(patience: .seconds(600))
        let sent = Mutex(0)
        stream.begin { () async throws(FileProviderError) in
            for number in 0..<5 {
                try await stream.send(Self.listing(Filename("\(number)")))
                sent.withLock { $0 += 1 }
            }
            var last = Self.listing("last")
            last.isLast = true
            return last
        }
        #expect(try await Self.eventually { stream.isFull })
        #expect(sent.withLock { $0 } == 1)
        var names: [String] = []
        while let part = try await stream.next() {
            names += part.listing.leftOut.map(\.name.string)
            if part.isLast { break }
        }
        #expect(names == ["0", "1", "2", "3", "4", "last"])
    }

    @Test("a listing ends when its next part is not taken") func patience() async throws {
        let stream = ListingStream(patience: .milliseconds(20))
        let failure = Mutex<FileProviderError.Code?>(nil)
        stream.begin { () async throws(FileProviderError) in
            do throws(FileProviderError) { while true { try await stream.send(Self.listing("x")) } } catch {
                failure.withLock { $0 = error.code }
                throw error
            }
        }
        #expect(try await Self.eventually { failure.withLock { $0 } != nil })
        #expect(failure.withLock { $0 } == .cancelled)
        do throws(FileProviderError) {
            _ = try await stream.next()
            Issue.record("a part came")
        } catch { #expect(error.code == .cannotSynchronize, "\(error)") }
    }

    @Test("a reader that stops waiting for a part ends the listing") func cancelling() async throws {
        let stream = ListingStream(patience: .seconds(600))
        let gate = Gate()
        let wasCancelled = Mutex(false)
        stream.begin { () async throws(FileProviderError) in
            do { try await gate.pass() } catch { wasCancelled.withLock { $0 = true } }
            return nil
        }
        await gate.waitForArrivals()
        let task = Task {
            do throws(FileProviderError) {
                _ = try await stream.next()
                return FileProviderError.Code?.none
            } catch { return error.code }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(try await Self.eventually { wasCancelled.withLock { $0 } })
    }

    // MARK: Pages

    @Test("a long listing comes in pages, each entry once") func pages() async throws {
        try await Answers.withProxy { proxy, provider in
            proxy.inject(Answers.answer([Answers.folder] + Self.documents(0..<8_000)), into: "PROPFIND")
            var most = 0
            let items = try await Self.pages(provider) { most = max(most, $0.items.count) }
            #expect(items.map(\.filename.string) == (0..<8_000).map(Self.name))
            #expect(most < 8_000)
        }
    }

    @Test("the beginning of an endless listing is passed on, and no more of it is read than is taken")
    func endless() async throws {
        try await Answers.withProxy({ $0.mostEntries = 20_000 }) { proxy, provider in
            let again = Answers.document("/dav/x", size: Answers.size("1"))
            proxy.inject(
                .endless(Answers.head + "\r\n" + Answers.start + Answers.folder, again: again), into: "PROPFIND")
            let first = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            #expect(first.items.count >= ListingStream.Part.size)
            #expect(first.nextPage != nil)
            // Before the bound is met, which would end it as well.
            #expect(try await Self.eventually { provider.listings.all.first?.stream.isFull == true })
            var count = first.items.count
            var page = first.nextPage
            do throws(FileProviderError) {
                while let next = page {
                    let answer = try await provider.enumerateItems(in: .rootContainer, startingAt: next)
                    count += answer.items.count
                    page = answer.nextPage
                }
                Issue.record("it ended")
            } catch {
                #expect(error.message.contains("more than 20000 entries"), "\(error)")
            }
            #expect((10_000...20_000).contains(count), "\(count)")
        }
    }

    @Test("a listing that breaks has no last page") func brokenOff() async throws {
        try await Answers.withProxy { proxy, provider in
            let body = ([Answers.start, Answers.folder] + Self.documents(0..<8_000)).joined()
            let length = "Content-Length: \(body.utf8.count + 1_000)\r\n\r\n"
            let isTaken = DispatchSemaphore(value: 0)
            proxy.inject(.endsLater(Answers.head + length + body, isTaken), into: "PROPFIND")
            var count = 0
            do {
                _ = try await Self.pages(provider) { page in
                    // (What has come, and was not taken when a connection breaks, is gone.)
                    isTaken.signal()
                    count += page.items.count
                    #expect(page.nextPage != nil)
                }
                Issue.record("it ended")
            } catch let error as FileProviderError { #expect(error.code == .serverUnreachable, "\(error)") }
            #expect(count >= ListingStream.Part.size)
        }
    }

    @Test("a page of another listing is not continued") func otherPages() async throws {
        try await Answers.withProxy { proxy, provider in
            proxy.inject(Answers.answer([Answers.folder] + Self.documents(0..<8_000)), into: "PROPFIND")
            let page = try #require(
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil).nextPage)
            for (folder, page) in [(ItemIdentifier("/other"), page), (.rootContainer, page)] {
                await #expect(throws: FileProviderError.self) {
                    _ = try await provider.enumerateItems(in: folder, startingAt: page)
                }
            }
        }
    }

    @Test("nothing is passed on before the server has confirmed that it is a folder") func folderLast() async throws {
        try await Answers.withProxy { proxy, provider in
            proxy.inject(Answers.answer(Self.documents(0..<8_000) + [Answers.folder]), into: "PROPFIND")
            let items = try await Self.pages(provider)
            #expect(items.count == 8_000)
            // (And once more: it may just have been moved.)
            let document = Answers.document("/dav/", size: Answers.size("1"))
            proxy.inject(Answers.answer(Self.documents(0..<8_000) + [document]), into: "PROPFIND", times: 9)
            do throws(FileProviderError) {
                _ = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
                Issue.record("it was taken for a folder")
            } catch { #expect(error.code == .noSuchItem, "\(error)") }
        }
    }

    // MARK: Which item is which

    @Test("an item renamed from the beginning of a long listing to its end is recognised, and so is an exchange")
    func renamed() async throws {
        try await Answers.withProxy { proxy, provider in
            let domain = Knowing()
            try await provider.beginServing(domain)
            proxy.inject(Answers.answer([Answers.folder] + Self.documents(0..<8_000)), into: "PROPFIND")
            let before = try await Self.pages(provider)
            domain.learn(before)
            let identifiers = Dictionary(uniqueKeysWithValues: before.map { ($0.filename, $0.identifier) })

            var entries = Self.documents(0..<8_000)
            // The first goes to the end under another name; the second and the last but one change places.
            entries[1] = Self.document(Self.name(1), 7_998)
            entries[7_998] = Self.document(Self.name(7_998), 1)
            entries.append(Self.document("renamed", 0))
            entries.append(Self.document("new", 9_000))
            entries.removeFirst()
            proxy.inject(Answers.answer([Answers.folder] + entries), into: "PROPFIND")
            var first: ItemPage?
            let after = try await Self.pages(provider) { first = first ?? $0 }
            #expect(after.count == 8_001)
            let now = Dictionary(uniqueKeysWithValues: after.map { ($0.filename, $0.identifier) })
            #expect(now["renamed"] == identifiers[Filename(Self.name(0))])
            #expect(now[Filename(Self.name(1))] == identifiers[Filename(Self.name(7_998))])
            #expect(now[Filename(Self.name(7_998))] == identifiers[Filename(Self.name(1))])
            #expect(now["new"] == ItemIdentifier("/new"))
            let others = (2..<7_998).map { Filename(Self.name($0)) }
            #expect(others.allSatisfy { now[$0] == identifiers[$0] })
            // What nobody changed does not wait for the end.
            let beginning = try #require(first)
            #expect(beginning.items.count > ListingStream.Part.size / 2 && beginning.nextPage != nil)
        }
    }

    @Test("a name left out of a long listing does not count as missing") func leftOut() async throws {
        try await Answers.withProxy { proxy, provider in
            let domain = Knowing()
            try await provider.beginServing(domain)
            proxy.inject(Answers.answer([Answers.folder] + Self.documents(0..<10)), into: "PROPFIND")
            domain.learn(try await Self.pages(provider))
            // It is there still, so this is a copy.
            let bad = Answers.document("/dav/" + Self.name(0), size: "")
            let entries = [bad] + Self.documents(1..<10) + [Self.document("copy", 0)]
            proxy.inject(Answers.answer([Answers.folder] + entries), into: "PROPFIND")
            let copy = try await Self.pages(provider).first { $0.filename == "copy" }
            #expect(copy?.identifier == ItemIdentifier("/copy"))
        }
    }

    @Test("a name that a long listing has twice is one item, also when the catalog has its first part already")
    func twice() async throws {
        try await Answers.withProxy { proxy, provider in
            let domain = Knowing()
            try await provider.beginServing(domain)
            let entries = Self.documents(0..<8_000) + [Self.document(Self.name(7), 7)]
            proxy.inject(Answers.answer([Answers.folder] + entries), into: "PROPFIND")
            let items = try await Self.pages(provider) { domain.learn($0.items) }
            let twice = items.filter { $0.filename.string == Self.name(7) }
            #expect(twice.count == 2 && twice[0].identifier == twice[1].identifier)
        }
    }

    @Test("a document moved from another folder is recognised in a listing with few new entries")
    func movedHere() async throws {
        try await Answers.withProxy { proxy, provider in
            let domain = Knowing()
            try await provider.beginServing(domain)
            var moved = Item(
                identifier: ItemIdentifier("/elsewhere/moved"), parentIdentifier: ItemIdentifier("/elsewhere"),
                filename: "moved", kind: .document,
                size: 43, contentModificationDate: FileTime(seconds: 0),
                version: ItemVersion(content: ContentVersion("x"), metadata: MetadataVersion("")))
            moved.version.content = try #require(Validator(tag: "\"t42\"")).version
            domain.learn([moved])
            // Folders, which are told by their names alone: when 10,000 wait, they do no longer. (What waits for the end comes
            // in pages of 2,000.)
            let folders = (0..<25_000).map {
                Answers.entry("/dav/\(Self.name($0))/", "<D:resourcetype><D:collection/></D:resourcetype>")
            }
            let answer = Answers.answer([Answers.folder, Self.document("here", 42)] + folders)
            proxy.inject(answer, into: "PROPFIND", path: "/dav/")
            var pages: [ItemPage] = []
            let items = try await Self.pages(provider) { pages.append($0) }
            #expect(items.count == 25_001)
            #expect(items.first { $0.filename == "here" }?.identifier == moved.identifier)
            #expect(pages.contains { $0.items.count > 10_000 })
        }
    }
}
