import ControlAPI
import Foundation
import Surroundings

/// Finds icon files in a theme, in the themes that it inherits from, in hicolor, and among icons without a theme.
///
/// Source: freedesktop.org, *Icon Theme Specification* 0.13, "Icon Lookup".
struct IconTheme {
    private let themes: [Theme]
    private let folders: [String]

    private struct Theme {
        var name: String
        var directories: [Directory]
    }

    /// A subfolder of a theme, with the sizes in it.
    private struct Directory {
        enum Kind { case fixed, scalable, threshold }
        var path: String
        var kind: Kind
        var size: Int
        var smallest: Int
        var largest: Int
        var threshold: Int

        func matches(_ wanted: Int) -> Bool {
            switch kind {
            case .fixed: size == wanted
            case .scalable: (smallest...max(smallest, largest)).contains(wanted)
            case .threshold: abs(size - wanted) <= threshold
            }
        }

        func distance(_ wanted: Int) -> Int {
            switch kind {
            case .fixed: abs(size - wanted)
            case .scalable: max(0, smallest - wanted, wanted - largest)
            case .threshold: max(0, size - threshold - wanted, wanted - size - threshold)
            }
        }
    }

    private static let suffixes = ["png", "svg", "xpm"]
    /// Bounds the chain of inheritance, which may be a cycle.
    private static let mostThemes = 32
    private static let mostDirectories = 4_000

    /// The user's theme. Blocks, as does everything in this type.
    static func current(in environment: [String: String] = ProcessInfo.processInfo.environment) -> IconTheme {
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? [$0 + "/.icons"] : nil } ?? []
        let folders = home + BaseDirectory.shared(in: environment).map { $0 + "/icons" }
        return IconTheme(named: settings(environment) ?? "Adwaita", folders: folders, unthemed: ["/usr/share/pixmaps"])
    }

    /// The theme in the settings of GTK or KDE.
    private static func settings(_ environment: [String: String]) -> String? {
        guard let configuration = BaseDirectory.configuration.path(in: environment) else { return nil }
        for (file, group, key) in [
            ("gtk-4.0/settings.ini", "Settings", "gtk-icon-theme-name"),
            ("gtk-3.0/settings.ini", "Settings", "gtk-icon-theme-name"), ("kdeglobals", "Icons", "Theme"),
        ] {
            if let name = KeyFile(path: "\(configuration)/\(file)")?.string(group, key), !name.isEmpty { return name }
        }
        return nil
    }

    init(named name: String, folders: [String], unthemed: [String] = []) {
        var (themes, seen, waiting) = ([Theme](), Set<String>(), [name])
        while let next = waiting.popLast(), themes.count < Self.mostThemes {
            guard next != "hicolor", !next.contains("/"), seen.insert(next).inserted else { continue }
            guard let (theme, parents) = Self.theme(next, folders) else { continue }
            themes.append(theme)
            waiting += parents.reversed()
        }
        themes.append(Self.theme("hicolor", folders)?.theme ?? Theme(name: "hicolor", directories: Self.usual))
        self.themes = themes
        self.folders = folders + unthemed
    }

    private static func theme(_ name: String, _ folders: [String]) -> (theme: Theme, parents: [String])? {
        // The first index.theme counts; icons may be in any folder.
        for folder in folders {
            guard let index = KeyFile(path: "\(folder)/\(name)/index.theme") else { continue }
            let paths = ["Directories", "ScaledDirectories"].flatMap { index.strings("Icon Theme", $0, separator: ",") }
            let directories = paths.prefix(mostDirectories).compactMap { directory($0, index) }
            return (
                Theme(name: name, directories: directories), index.strings("Icon Theme", "Inherits", separator: ",")
            )
        }
        return nil
    }

    private static func directory(_ path: String, _ index: KeyFile) -> Directory? {
        guard !path.contains(".."), let size = index.integer(path, "Size"), (1...4_096).contains(size) else {
            return nil
        }
        // Skip icons of scale 2, which have twice the pixels.
        guard index.integer(path, "Scale") ?? 1 == 1 else { return nil }
        func number(_ key: String, _ usual: Int) -> Int { min(max(index.integer(path, key) ?? usual, 0), 4_096) }
        let kind: Directory.Kind =
            switch index.string(path, "Type")?.lowercased() {
            case "fixed": .fixed
            case "scalable": .scalable
            default: .threshold
            }
        return Directory(
            path: path, kind: kind, size: size, smallest: number("MinSize", size), largest: number("MaxSize", size),
            threshold: number("Threshold", 2))
    }

    /// The folders of hicolor, if its index is not installed.
    private static let usual: [Directory] = ["mimetypes", "apps", "places"].flatMap { kind in
        [16, 22, 24, 32, 36, 48, 64, 72, 96, 128, 192, 256, 512, 1_024].map { size in
            Directory(
                path: "\(size)x\(size)/\(kind)", kind: .threshold, size: size, smallest: size, largest: size,
                threshold: 2)
        } + [
            Directory(
                path: "scalable/\(kind)", kind: .scalable, size: 128, smallest: 1, largest: 1_024, threshold: 2)
        ]
    }

    /// Icon files by the wanted sizes; sizes without an icon are missing.
    func icons(_ names: [String], sizes: [Int]) -> [Int: URL] {
        let usable = names.filter { !$0.contains("/") && !$0.isEmpty }
        // List all files once; then choose the best one for each size.
        let found = themes.map { files(usable, $0) }
        let unthemed = self.unthemed(usable)
        var icons: [Int: URL] = [:]
        for size in Set(sizes) where (8...1_024).contains(size) {
            // A better name precedes a better theme, because programs install icons for their types into hicolor.
            let path = usable.lazy.compactMap { name in
                found.lazy.compactMap { Self.best($0[name] ?? [], size) }.first
            }.first
            icons[size] = (path ?? unthemed).map { URL(filePath: $0, directoryHint: .notDirectory) }
        }
        return icons
    }

    private func unthemed(_ names: [String]) -> String? {
        for name in names {
            for folder in folders {
                for suffix in Self.suffixes where access("\(folder)/\(name).\(suffix)", R_OK) == 0 {
                    return "\(folder)/\(name).\(suffix)"
                }
            }
        }
        return nil
    }

    private typealias Files = [String: [(directory: Directory, path: String)]]

    private func files(_ names: [String], _ theme: Theme) -> Files {
        var files: Files = [:]
        for folder in folders where access("\(folder)/\(theme.name)", X_OK) == 0 {
            for directory in theme.directories {
                let path = "\(folder)/\(theme.name)/\(directory.path)"
                guard access(path, X_OK) == 0 else { continue }
                for name in names {
                    for suffix in Self.suffixes where access("\(path)/\(name).\(suffix)", R_OK) == 0 {
                        files[name, default: []].append((directory, "\(path)/\(name).\(suffix)"))
                    }
                }
            }
        }
        return files
    }

    /// The best file for a size in one theme.
    private static func best(_ all: [(directory: Directory, path: String)], _ size: Int) -> String? {
        if let fitting = all.first(where: { $0.directory.matches(size) }) { return fitting.path }
        return all.min { $0.directory.distance(size) < $1.directory.distance(size) }?.path
    }
}
