import Foundation
import Surroundings

/// A file that the extensions of file managers consist of.
struct DesktopFile {
    /// Relative to the user's folder of data.
    let path: String
    let bytes: [UInt8]
    /// KDE takes a service menu of a user only if that is executable.
    var isExecutable = false

    /// Modules that all extensions share, and the program behind their menus.
    static let shared = "hydrant/desktop"

    /// - Parameters:
    ///   - dataHome: the user's folder of data.
    ///   - program: the path of `hydrant`.
    static func all(dataHome: String, program: String) -> [DesktopFile] {
        func script(_ path: String, _ bytes: [UInt8]) -> DesktopFile {
            var text = String(decoding: bytes, as: UTF8.self)
            for (mark, value) in [("@HYDRANT@", program), ("@SHARED@", "\(dataHome)/\(shared)")] {
                text = text.replacing("\"\(mark)\"", with: pythonText(value))
            }
            return DesktopFile(path: path, bytes: Array(text.utf8))
        }
        func serviceMenu(_ path: String, _ bytes: [UInt8]) -> DesktopFile {
            let actions = desktopText("\(dataHome)/\(shared)/hydrant_actions.py")
            let text = String(decoding: bytes, as: UTF8.self).replacing("@ACTIONS@", with: actions)
            return DesktopFile(path: path, bytes: Array(text.utf8), isExecutable: true)
        }
        func emblem(_ name: String, _ bytes: [UInt8]) -> DesktopFile {
            DesktopFile(path: "icons/hicolor/scalable/emblems/emblem-hydrant-\(name).svg", bytes: bytes)
        }
        return [
            script("\(shared)/hydrant_items.py", PackageResources.hydrant_items_py),
            script("\(shared)/hydrant_actions.py", PackageResources.hydrant_actions_py),
            script("nautilus-python/extensions/hydrant_nautilus.py", PackageResources.hydrant_nautilus_py),
            script("nemo-python/extensions/hydrant_nemo.py", PackageResources.hydrant_nemo_py),
            script("thunarx-python/extensions/hydrant_thunar.py", PackageResources.hydrant_thunar_py),
            serviceMenu("kio/servicemenus/hydrant.desktop", PackageResources.hydrant_dolphin_desktop),
            emblem("cloud", PackageResources.emblem_hydrant_cloud_svg),
            emblem("conflict", PackageResources.emblem_hydrant_conflict_svg),
            emblem("downloading", PackageResources.emblem_hydrant_downloading_svg),
            emblem("error", PackageResources.emblem_hydrant_error_svg),
            emblem("here", PackageResources.emblem_hydrant_here_svg),
            emblem("local", PackageResources.emblem_hydrant_local_svg),
            emblem("pinned", PackageResources.emblem_hydrant_pinned_svg),
            emblem("waiting", PackageResources.emblem_hydrant_waiting_svg),
        ]
    }

    /// An argument as the key Exec of a desktop entry has it: quoted, and then escaped as any text there.
    ///
    /// Source: freedesktop.org, *Desktop Entry Specification*.
    static func desktopText(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "`", "$", "\\": quoted += "\\\\\(scalar)" + (scalar == "\\" ? "\\" : "")
            case "%": quoted += "%%"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// A text as Python's source has it.
    static func pythonText(_ text: String) -> String {
        var source = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": source += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                source += "\\x" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: source.unicodeScalars.append(scalar)
            }
        }
        return source + "\""
    }
}
