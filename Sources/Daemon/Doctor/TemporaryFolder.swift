import Foundation

/// A private temporary folder; deinit removes it.
final class TemporaryFolder {
    let path: String

    init() throws(DaemonError) {
        var template = Array((NSTemporaryDirectory() + "/hydrant-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw DaemonError("mkdtemp: \(String(cString: strerror(errno)))") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
