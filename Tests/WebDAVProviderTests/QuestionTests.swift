import FileProvider
import Foundation
import MountHarness
import Testing
import WebDAVHarness

@testable import WebDAVProvider

/// What a server is asked for of each item.
@Suite("WebDAV: questions", .timeLimit(.minutes(10)))
struct QuestionTests {
    @Test(
        "Apache is not asked for properties it lacks; its answers miss nothing",
        arguments: [(ServerKind.apache, false), (.nextcloud, true), (.rclone, true)])
    func unknown(_ kind: ServerKind, isAsked: Bool) async throws {
        var options = ServerOptions()
        options.wantsPassword = kind == .nextcloud
        try await withServer(kind, options) { server in
            let provider = try server.provider()
            try Data("text".utf8).write(to: URL(fileURLWithPath: server.root + "/document"))
            let page = try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            let item = try #require(page.items.first)
            #expect(page.items.count == 1 && item.size == 4 && item.filename == "document")
            let question = String(decoding: provider.client.question(DAVProperty.ofFolders), as: UTF8.self)
            for name in ["getetag", "getcontentlength", "getlastmodified", "resourcetype"] {
                #expect(question.contains("<D:\(name)/>"))
            }
            for name in ["resource-id", "fileid", "permissions", "checksums", "sync-token"] {
                #expect(question.contains("\(name)/>") == isAsked, "\(name)")
            }
            await provider.invalidate()
        }
    }
}
