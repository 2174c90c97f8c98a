import Foundation

/// The identifier of the machine's current boot.
///
/// Source: random(4), `/proc/sys/kernel/random/boot_id`.
enum BootIdentifier {
    /// Nil: the kernel does not say.
    static var current: String? {
        guard let data = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
