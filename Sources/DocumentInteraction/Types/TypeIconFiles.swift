import Foundation

/// Installs a program's icons into hicolor, from which all themes inherit.
///
/// Source: freedesktop.org, *Icon Theme Specification*, "Installing Application Icons".
final class TypeIconFiles {
    private let theme: String
    private let list: String
    private var planned: [(from: String, to: String)] = []
    /// In bytes.
    private static let most = 4 << 20

    init(folder: String, identifier: String) {
        theme = folder + "/icons/hicolor"
        list = "\(folder)/hydrant/types/\(identifier).icons"
    }

    /// - Returns: the icon's name; nil: none.
    func plan(_ icons: [String], named name: String, kind: String, beside folder: String) throws -> String? {
        guard let first = icons.first else { return nil }
        if icons.count == 1, !first.contains("/"), !first.hasSuffix(".png"), !first.hasSuffix(".svg") { return first }
        for icon in icons {
            let path = icon.hasPrefix("/") ? icon : "\(folder.isEmpty ? "." : folder)/\(icon)"
            guard let read = try? FileBytes.read(path, most: Self.most), read.isWhole, !read.bytes.isEmpty else {
                throw DocumentInteractionError(.badManifest, "icons: \(path): unreadable, or larger than 4 MiB")
            }
            let place: String
            if let size = PictureSize(read.bytes), size.format == "PNG" {
                guard size.width == size.height, (8...1_024).contains(size.width) else {
                    throw DocumentInteractionError(
                        .badManifest, "icons: \(path): \(size.width) × \(size.height) pixels; an icon must be a square")
                }
                place = "\(size.width)x\(size.width)/\(kind)/\(name).png"
            } else if icon.lowercased().hasSuffix(".svg") {
                place = "scalable/\(kind)/\(name).svg"
            } else {
                throw DocumentInteractionError(.badManifest, "icons: \(path): neither PNG nor SVG")
            }
            planned.append((path, "\(theme)/\(place)"))
        }
        return name
    }

    /// Checks that no other file is in the way.
    func check() throws {
        let ours = Set(installed())
        for (_, to) in planned where access(to, F_OK) == 0 && !ours.contains(to) {
            throw DocumentInteractionError(
                .failed,
                "\(to): exists, and is not this program's; remove it, or choose another identifier or MIME type")
        }
    }

    func install() throws {
        var lines: [String] = []
        for (from, to) in planned {
            try FileManager.default.createDirectory(
                atPath: (to as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(FileBytes.read(from, most: Self.most).bytes).write(
                to: URL(filePath: to, directoryHint: .notDirectory), options: .atomic)
            lines.append("\(Self.stamp(to)) \(to)\n")
            // Record each icon at once, because removal goes by the list.
            try Data(lines.joined().utf8).write(to: URL(filePath: list, directoryHint: .notDirectory), options: .atomic)
        }
        touch()
    }

    /// The icons of the list that are unchanged, and lie in the theme.
    private func installed() -> [String] {
        guard let data = FileManager.default.contents(atPath: list) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[1].hasPrefix(theme + "/"), !parts[1].contains("/../"),
                Self.stamp(parts[1]) == parts[0]
            else { return nil }
            return parts[1]
        }
    }

    /// Identifies the file's contents; differs for a file that somebody else has put there since.
    private static func stamp(_ path: String) -> String {
        var status = stat()
        guard lstat(path, &status) == 0 else { return "" }
        return "\(status.st_ino).\(status.st_size).\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }

    func remove() {
        for path in installed() { unlink(path) }
        unlink(list)
        touch()
    }

    /// Sets the theme folder's date, by which programs see that their caches are stale.
    private func touch() { utimes(theme, nil) }
}
