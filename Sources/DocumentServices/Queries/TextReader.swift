import ChildProcess
import ContentStore
import Foundation
import Trees
import UniformTypes

/// Reads the text of a downloaded document: plain text as it is, markup without its tags, PDF by pdftotext
/// (poppler-utils) where that is installed.
struct TextReader: Sendable {
    /// Bytes; only the beginning of a larger document is read.
    static let most = 4 << 20
    /// Bytes; larger PDF documents are skipped.
    private static let mostPDF: Int64 = 256 << 20
    private static let patience: Duration = .seconds(20)
    private let types = UniformTypeTable.system

    /// Whether a document with this name may contain text.
    func canRead(_ name: String) -> Bool {
        let type = types.type(ofFilename: name)
        return types.conforms(type, toAnyOf: [UniformType("com.adobe.pdf"), UniformType("public.text")])
    }

    /// Nil: the document has no readable text.
    func text(of content: ContentFile, named name: String, size: Int64) -> String? {
        let type = types.type(ofFilename: name)
        if types.conforms(type, to: UniformType("com.adobe.pdf")) { return size <= Self.mostPDF ? pdf(content) : nil }
        guard types.conforms(type, to: UniformType("public.text")), let text = plain(content, size) else { return nil }
        let isMarkup = ["public.html", "public.xml"].contains { types.conforms(type, to: UniformType($0)) }
        return String(decoding: isMarkup ? Self.withoutMarkup(text) : text, as: UTF8.self)
    }

    /// Replaces each `<…>` with a space in one pass; keeps a `<` without its `>`.
    private static func withoutMarkup(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")),
            let end = rest[start...].firstIndex(of: UInt8(ascii: ">"))
        {
            result += rest[..<start]
            result.append(UInt8(ascii: " "))
            rest = rest[(end + 1)...]
        }
        return result + rest
    }

    private func plain(_ content: ContentFile, _ size: Int64) -> [UInt8]? {
        let count = Int(min(size, Int64(Self.most)))
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = bytes.withUnsafeMutableBytes { buffer in
            var done = 0
            while done < count {
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
                guard let number = try? content.read(into: part, at: Int64(done)), number > 0 else { break }
                done += number
            }
            return done
        }
        // A NUL byte means that this is no text, whatever the name.
        if bytes[..<read].prefix(8_192).contains(0) { return nil }
        return Array(bytes[..<read])
    }

    private func pdf(_ content: ContentFile) -> String? {
        // Pass our own descriptor: nobody can replace the file behind it.
        let file = "/proc/\(getpid())/fd/\(content.descriptor)"
        let words = ["pdftotext", "-q", "-enc", "UTF-8", file, "-"]
        guard
            let ending = try? ChildProcess(words, limit: Self.patience, mostPrinted: Self.most).run(
                reading: .standardOutput),
            ending.status == 0 || !ending.printed.isEmpty
        else { return nil }
        return String(decoding: ending.printed, as: UTF8.self)
    }
}
