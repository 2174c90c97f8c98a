import FileProvider
import Foundation
import Testing

@testable import Daemon

@Suite("URLs of documents") struct DocumentURLTests {
    private let urls = DocumentURL(mountPoint: "/mnt/my docs")

    @Test(arguments: [
        "plain.txt", "with space", "100%", "a?b#c", "semi;colon", "ümlaut", "日本", "%41", "a:b", "new\nline", "*[x]*",
    ]) func thereAndBack(_ name: String) throws {
        let names = [Filename("folder"), Filename(name)]
        let url = urls.url(of: names)
        #expect(url.isFileURL)
        #expect(try urls.names(of: url) == names)
        #expect(url.path(percentEncoded: false) == "/mnt/my docs/folder/" + name)
    }

    @Test func bytesThatAreNoTextArePercentEncoded() throws {
        let names = [Filename(bytes: [0xFF, 0x2F + 1, 0x80])]
        let url = urls.url(of: names)
        #expect(url.absoluteString == "file:///mnt/my%20docs/%FF0%80")
        #expect(try urls.names(of: url) == names)
    }

    @Test func theRootHasNoNames() throws {
        #expect(urls.root.absoluteString == "file:///mnt/my%20docs/")
        #expect(try urls.names(of: urls.root) == [])
        #expect(urls.url(of: []) == urls.root)
        #expect(try DocumentURL(mountPoint: "/").names(of: DocumentURL(mountPoint: "/").url(of: ["a"])) == ["a"])
    }

    @Test(arguments: [
        "file:///mnt/my%20docs/a/../b", "file:///mnt/my%20docs/..", "file:///mnt/my%20docs/%2E%2E/x",
        "file:///mnt/my%20docs/a/./b", "file:///mnt/other", "file:///mnt", "file:///mnt/my%20docsuffix/a",
        "https://example.org/mnt/my%20docs/a", "file://example.org/mnt/my%20docs/a", "file:///mnt/my%20docs/a%00b",
        "file:///mnt/my%20docs/a%2Fb", "file:///mnt/my%20docs/a?query", "file:///mnt/my%20docs/a#part",
    ]) func foreignOnesAreRefused(_ text: String) throws {
        let url = try #require(URL(string: text))
        do {
            let names = try urls.names(of: url)
            Issue.record("\(text) was taken for \(names)")
        } catch {
            #expect(error.code == .invalidName)
        }
    }

    @Test func otherWaysToWriteOneAreUnderstood() throws {
        for text in ["file:///mnt/my%20docs//a/b/", "file://localhost/mnt/my%20docs/a/b", "file:/mnt/my%20docs/%61/b"] {
            #expect(try urls.names(of: try #require(URL(string: text))) == ["a", "b"])
        }
        #expect(
            try urls.names(of: URL(filePath: "/mnt/my docs/a b", directoryHint: .notDirectory)) == ["a b"])
    }
}
