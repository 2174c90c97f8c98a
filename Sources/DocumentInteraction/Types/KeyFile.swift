import CGIO
import Foundation

/// A key file: desktop entries, `mimeapps.list`, `index.theme`. GLib reads and writes it, so that comments, order and
/// others' keys stay.
final class KeyFile {
    private let file: OpaquePointer
    /// The largest file, in bytes.
    private static let most = 4 << 20

    /// An empty file.
    init() { file = g_key_file_new() }

    /// Nil: the file does not exist, or is not a key file.
    convenience init?(path: String) {
        guard let read = try? FileBytes.read(path, most: Self.most), read.isWhole else { return nil }
        self.init(text: read.bytes)
    }

    init?(text: [UInt8]) {
        file = g_key_file_new()
        let flags = GKeyFileFlags(rawValue: G_KEY_FILE_KEEP_COMMENTS.rawValue | G_KEY_FILE_KEEP_TRANSLATIONS.rawValue)
        let isRead = text.withUnsafeBytes { buffer in
            g_key_file_load_from_data(
                file, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), gsize(buffer.count), flags, nil)
        }
        // An empty file is valid.
        if isRead == 0 && !text.isEmpty { return nil }
    }

    deinit { g_key_file_unref(file) }

    func string(_ group: String, _ key: String) -> String? {
        g_key_file_get_string(file, group, key, nil).map { text in
            defer { g_free(text) }
            return String(cString: text)
        }
    }

    /// A list, separated by semicolons or by another separator.
    func strings(_ group: String, _ key: String, separator: Character = ";") -> [String] {
        guard let value = g_key_file_get_value(file, group, key, nil) else { return [] }
        defer { g_free(value) }
        return String(cString: value).split(separator: separator).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    func integer(_ group: String, _ key: String) -> Int? { string(group, key).flatMap { Int($0) } }

    func keys(_ group: String) -> [String] { Self.list(g_key_file_get_keys(file, group, nil, nil)) }

    func set(_ group: String, _ key: String, _ value: String) { g_key_file_set_string(file, group, key, value) }

    /// Sets a list without escaping; an empty one removes the key.
    func set(_ group: String, _ key: String, _ values: [String]) {
        if values.isEmpty {
            g_key_file_remove_key(file, group, key, nil)
        } else {
            g_key_file_set_value(file, group, key, values.joined(separator: ";") + ";")
        }
    }

    var text: String {
        guard let data = g_key_file_to_data(file, nil, nil) else { return "" }
        defer { g_free(data) }
        return String(cString: data)
    }

    private static func list(_ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [String] {
        guard let list else { return [] }
        defer { g_strfreev(list) }
        var (found, next) = ([String](), list)
        while let text = next.pointee {
            found.append(String(cString: text))
            next += 1
        }
        return found
    }
}
