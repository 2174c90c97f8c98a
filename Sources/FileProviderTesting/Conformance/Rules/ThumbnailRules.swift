import FileProvider
import Foundation

/// Rules for providers that are ``FileProvider/ThumbnailProviding`` and make thumbnails of PNG pictures, and for those
/// that are ``FileProvider/ThumbnailKeeping``.
extension ConformanceSuite {
    static let thumbnailRules: [ConformanceRule] = [
        ConformanceRule(1501, "A thumbnail is a PNG or a JPEG.") { it in
            let item = try await it.makeDocument("picture.png", smallPicture)
            let thumbnail = try await needThumbnail(it, item, size: 256)
            try it.require(
                PictureSize(of: thumbnail.bytes) != nil,
                "it begins with \(thumbnail.bytes.prefix(8)), as neither does")
        },
        ConformanceRule(1502, "A thumbnail fits into the requested square.") { it in
            let item = try await it.makeDocument("picture.png", largePicture)
            _ = try await needThumbnail(it, item, size: 256)
            guard let small = try await thumbnail(it, item, size: 16), let size = PictureSize(of: small.bytes) else {
                return
            }
            try it.require(
                size.width <= 16 && size.height <= 16, "asked for 16, it has \(size.width) × \(size.height) pixels")
        },
        ConformanceRule(1503, "A thumbnail of changed contents is refused.") { it in
            let old = try await it.makeDocument("picture.png", smallPicture)
            _ = try await needThumbnail(it, old, size: 256)
            _ = try await it.change(old, to: largePicture)
            try await it.requireError(.versionMismatch, from: "the thumbnail of an old version") {
                _ = try await thumbnail(it, old, size: 256)
            }
        },
        ConformanceRule(1504, "A thumbnail of a deleted document is refused.") { it in
            let item = try await it.makeDocument("picture.png", smallPicture)
            _ = try await needThumbnail(it, item, size: 256)
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "the thumbnail of a deleted document") {
                _ = try await thumbnail(it, item, size: 256)
            }
        },
        ConformanceRule(1505, "A kept thumbnail is returned for every requested size.") { it in
            let item = try await it.makeDocument("report.txt")
            try await keep(smallPicture, it, item)
            for size in [16, 1_024] {
                let found = try await thumbnail(it, item, size: size)
                // (See rule 1501.)
                if let found, PictureSize(of: found.bytes) == nil { throw RuleSkip("the thumbnail is not a picture") }
                try it.require(found?.bytes == smallPicture, "asked for \(size) pixels, it is not the kept thumbnail")
            }
        },
        ConformanceRule(1506, "A kept thumbnail replaces the one before.") { it in
            let item = try await it.makeDocument("report.txt")
            try await needKept(it, item)
            try await keep(largePicture, it, item)
            try it.require(
                try await thumbnail(it, item, size: 1_024)?.bytes == largePicture, "it is not the thumbnail kept last")
        },
        ConformanceRule(1507, "A kept thumbnail follows the document to another name and folder.") { it in
            let item = try await it.makeDocument("report.txt")
            let folder = try await it.makeFolder("folder")
            try await needKept(it, item)
            let renamed = try await it.provider.moveItem(
                item.identifier, to: item.parentIdentifier, as: "renamed.txt", baseVersion: item.version)
            try it.require(
                try await thumbnail(it, renamed, size: 1_024)?.bytes == smallPicture, "it is missing after a rename"
            )
            let moved = try await it.provider.moveItem(
                renamed.identifier, to: folder.identifier, as: "moved.txt", baseVersion: renamed.version)
            try it.require(
                try await thumbnail(it, moved, size: 1_024)?.bytes == smallPicture, "it is missing after a move")
        },
        ConformanceRule(1508, "A kept thumbnail is dropped when the contents change.") { it in
            let item = try await it.makeDocument("report.txt")
            try await keep(smallPicture, it, item)
            let changed = try await it.change(item, to: ConformanceContext.testBytes(90))
            try it.require(
                try await thumbnail(it, changed, size: 1_024)?.bytes != smallPicture,
                "it is the thumbnail of the old contents")
        },
        ConformanceRule(1509, "Keeping a thumbnail of changed contents is refused.") { it in
            let old = try await it.makeDocument("report.txt")
            try await keep(smallPicture, it, old)
            let now = try await it.change(old, to: ConformanceContext.testBytes(90))
            try await it.requireError(.versionMismatch, from: "keeping a thumbnail of an old version") {
                try await keep(largePicture, it, old)
            }
            try it.require(
                try await thumbnail(it, now, size: 1_024)?.bytes != largePicture, "it is kept for the new version")
        },
        ConformanceRule(1510, "A kept thumbnail is not an item.") { it in
            let folder = try await it.makeFolder("folder")
            let item = try await it.makeDocument("report.txt", in: folder.identifier)
            try await keep(smallPicture, it, item)
            try await it.requireNames("report.txt", in: folder.identifier, after: "a thumbnail was kept")
        },
        ConformanceRule(1511, "Keeping a thumbnail of a deleted document is refused.") { it in
            let item = try await it.makeDocument("report.txt")
            try await keep(smallPicture, it, item)
            try await it.provider.deleteItem(item.identifier, baseVersion: item.version)
            try await it.requireError(.noSuchItem, from: "keeping a thumbnail of a deleted document") {
                try await keep(smallPicture, it, item)
            }
        },
    ]

    /// Keeps a thumbnail; skips when it is not returned afterwards.
    private static func needKept(_ it: ConformanceContext, _ item: Item) async throws {
        try await keep(smallPicture, it, item)
        guard try await thumbnail(it, item, size: 1_024)?.bytes == smallPicture else {
            throw RuleSkip("the kept thumbnail is missing (rule 1505)")
        }
    }

    private static func keep(_ picture: [UInt8], _ it: ConformanceContext, _ item: Item) async throws {
        let reason = "the store keeps no thumbnails"
        guard let provider = it.abilities.keptThumbnails, provider.keepsThumbnails else {
            throw RuleSkip(reason)
        }
        try await unlessUnsupported(reason) {
            try await provider.keepThumbnail(
                Thumbnail(bytes: picture), of: item.identifier, version: item.version.content)
        }
    }

    private static func thumbnail(_ it: ConformanceContext, _ item: Item, size: Int) async throws -> Thumbnail? {
        let reason = "the store makes no thumbnails"
        guard let provider = it.abilities.thumbnails else { throw RuleSkip(reason) }
        return try await unlessUnsupported(reason) {
            try await provider.thumbnail(of: item.identifier, version: item.version.content, size: size)
        }
    }

    private static func needThumbnail(_ it: ConformanceContext, _ item: Item, size: Int) async throws -> Thumbnail {
        guard let thumbnail = try await thumbnail(it, item, size: size) else {
            throw RuleSkip("the store makes no thumbnails of PNG pictures")
        }
        return thumbnail
    }

    /// Of 4 × 4 and of 64 × 64 pixels, as one line of base64 each; made with Python's zlib.
    private static let smallPicture = png(
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mP438AARwzEcQB+ohfxtaDPigAAAABJRU5ErkJggg==")
    private static let largePicture = png(
        """
        iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAATElEQVR42u3PQQkAAAgEsItucy+Cb2GwAstOXouAgICAgICAgICAgICAgICA\
        gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAwKX5gfFaZ4bdfwAAAABJRU5ErkJggg==
        """)
    private static func png(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }
}

/// The size of a picture in pixels, as its header says.
struct PictureSize: Hashable {
    var width: Int
    var height: Int

    /// Nil when it is neither a PNG nor a JPEG.
    ///
    /// Source: PNG specification, 5.2 and 11.2.2 (IHDR); ITU-T T.81, B.2.2 (frame header).
    init?(of bytes: [UInt8]) {
        func number(_ offset: Int, _ count: Int) -> Int {
            bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
        }
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), bytes.count >= 24 {
            (width, height) = (number(16, 4), number(20, 4))
            return
        }
        guard bytes.starts(with: [0xff, 0xd8]) else { return nil }
        // Segments, each with its length, up to the one that begins the frame.
        var offset = 2
        while offset + 9 <= bytes.count, bytes[offset] == 0xff {
            let marker = bytes[offset + 1]
            if (0xc0...0xcf).contains(marker), ![0xc4, 0xc8, 0xcc].contains(marker) {
                (height, width) = (number(offset + 5, 2), number(offset + 7, 2))
                return
            }
            offset += 2 + max(2, number(offset + 2, 2))
        }
        return nil
    }
}
