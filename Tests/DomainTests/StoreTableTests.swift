import DirectoryProvider
import FileProvider
import Foundation
import ProcessProvider
import RcloneProvider
import S3Provider
import Testing
import WebDAVProvider

/// The table of the page "What each store can" is what the providers say of themselves.
@Suite("What each store can")
struct StoreTableTests {
    private static let page = URL(filePath: #filePath, directoryHint: .notDirectory)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/hydrant/Documentation.docc/Stores.md", directoryHint: .notDirectory)

    private static let providers: [any FileProviderExtension.Type] = [
        DirectoryProvider.self, WebDAVProvider.self, S3Provider.self, RcloneProvider.self,
    ]

    private static func has(_ ability: Ability, _ type: any FileProviderExtension.Type) -> Bool {
        switch ability {
        case .changeEnumerating: type is any ChangeEnumerating.Type
        case .changeSignaling: type is any ChangeSignaling.Type
        case .folderVersioning: type is any FolderVersioning.Type
        case .metadataUpdating: type is any MetadataUpdating.Type
        case .serverSideCopying: type is any ServerSideCopying.Type
        case .trashing: type is any Trashing.Type
        case .trashRestoring: type is any TrashRestoring.Type
        case .linkSharing: type is any LinkSharing.Type
        case .favoriteKeeping: type is any FavoriteKeeping.Type
        case .thumbnailProviding: type is any ThumbnailProviding.Type
        case .thumbnailKeeping: type is any ThumbnailKeeping.Type
        case .versionKeeping: type is any VersionKeeping.Type
        case .quotaReporting: type is any QuotaReporting.Type
        case .searchingProvider: type is any SearchingProvider.Type
        case .signingIn: type is any SigningIn.Type
        }
    }

    private static func words(_ ability: Ability) -> String {
        switch ability {
        case .changeEnumerating: "lists changes since a moment"
        case .changeSignaling: "tells of others' changes at once"
        case .folderVersioning: "tells that nothing has changed below a folder"
        case .metadataUpdating: "sets dates, modes and attributes without the contents"
        case .serverSideCopying: "copies documents by itself"
        case .trashing: "puts deleted items into a trash"
        case .trashRestoring: "lists its trash, and restores from it (`hydrant trash`)"
        case .linkSharing: "gives out links (`hydrant share`)"
        case .favoriteKeeping: "marks favourites"
        case .thumbnailProviding: "makes thumbnails"
        case .thumbnailKeeping: "keeps the thumbnails that programs give documents"
        case .versionKeeping: "keeps earlier versions (`hydrant versions`)"
        case .quotaReporting: "says how full it is (`df`)"
        case .searchingProvider: "searches by itself (`hydrant find`)"
        case .signingIn: "has accounts (`hydrant login`)"
        }
    }

    private static var table: String {
        var lines = [
            "| the store … | `dir:` | WebDAV, Nextcloud | `s3:` | `rclone:` | a program's |",
            "|---|---|---|---|---|---|",
        ]
        for ability in Ability.allCases {
            let cells = providers.map { has(ability, $0) ? "yes" : "" }
            // (It conforms to all, and learns from the program at its start which count.)
            let program = has(ability, ProcessProvider.self) ? "as it says" : ""
            lines.append("| \(words(ability)) | \((cells + [program]).joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n")
    }

    /// The table is written by this test when `HYDRANT_WRITE_DOCS` is set.
    @Test func theTableIsWhatProvidersSay() throws {
        var text = String(decoding: try Data(contentsOf: Self.page), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| the store …") })
        let end = lines[start...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
        if ProcessInfo.processInfo.environment["HYDRANT_WRITE_DOCS"] != nil {
            text = (lines[..<start] + Self.table.split(separator: "\n") + lines[end...]).joined(separator: "\n")
            try Data(text.utf8).write(to: Self.page)
        }
        #expect(
            text.contains("\n\(Self.table)\n"),
            "\(Self.page.path) is out of date: run HYDRANT_WRITE_DOCS=1 scripts/test --filter StoreTableTests")
    }
}
