import CExpat
import Glibc

/// A streaming XML parser on libexpat: elements by their namespace and name.
///
/// A document type is refused: it could declare entities that fill the memory ("a billion laughs") or read other files.
/// No answer of a WebDAV server needs one.
///
/// Not thread-safe.
package final class XMLStream {
    /// `DAV:|href`; without a namespace, the plain name. Valid while the handler runs.
    package typealias Name = UnsafePointer<CChar>

    private let parser: XML_Parser
    private let began: (Name) throws -> Void
    private let text: (UnsafeBufferPointer<UInt8>) throws -> Void
    private let ended: () throws -> Void
    private var failure: (any Error)?
    private var depth = 0
    private static let deepest = 64
    /// The bytes fed so far, and the offset at which an element last began or ended.
    private var fed = 0
    package private(set) var lastElement = 0
    /// In bytes, between two elements: the parser keeps a tag until it ends, and scans all of it again and again.
    private static let longestGap = 128 << 10
    /// In bytes: the name of a namespace is a part of the name of each element in it.
    private static let longestNamespace = 1_024

    package init(
        began: @escaping (Name) throws -> Void, text: @escaping (UnsafeBufferPointer<UInt8>) throws -> Void,
        ended: @escaping () throws -> Void
    ) {
        parser = XML_ParserCreateNS(nil, XML_Char(UInt8(ascii: "|")))
        self.began = began
        self.text = text
        self.ended = ended
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser,
            { data, name, _ in
                XMLStream.of(data).handle { stream in
                    stream.depth += 1
                    guard stream.depth <= XMLStream.deepest else { throw BadXML("its elements are nested too deep") }
                    stream.lastElement = Int(XML_GetCurrentByteIndex(stream.parser))
                    try stream.began(name!)
                }
            },
            { data, _ in
                XMLStream.of(data).handle { stream in
                    stream.depth -= 1
                    stream.lastElement = Int(XML_GetCurrentByteIndex(stream.parser))
                    try stream.ended()
                }
            })
        XML_SetCharacterDataHandler(parser) { data, characters, count in
            XMLStream.of(data).handle { stream in
                try characters!.withMemoryRebound(to: UInt8.self, capacity: Int(count)) {
                    try stream.text(UnsafeBufferPointer(start: $0, count: Int(count)))
                }
            }
        }
        XML_SetStartNamespaceDeclHandler(parser) { data, _, uri in
            guard let uri, strnlen(uri, XMLStream.longestNamespace + 1) > XMLStream.longestNamespace else { return }
            XMLStream.of(data).handle { _ in throw BadXML("the name of a namespace has more than 1,024 bytes") }
        }
        XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in
            XMLStream.of(data).handle { _ in throw BadXML("it declares a document type, which no answer needs") }
        }
    }

    deinit { XML_ParserFree(parser) }

    private static func of(_ data: UnsafeMutableRawPointer?) -> XMLStream {
        Unmanaged<XMLStream>.fromOpaque(data!).takeUnretainedValue()
    }

    /// Errors cannot pass through C: this stops the parser, and ``feed(_:isLast:)`` throws.
    private func handle(_ body: (XMLStream) throws -> Void) {
        guard failure == nil else { return }
        do { try body(self) } catch {
            failure = error
            XML_StopParser(parser, XML_Bool(0))
        }
    }

    package func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws {
        let status = bytes.withMemoryRebound(to: CChar.self) {
            XML_Parse(parser, $0.baseAddress, Int32($0.count), isLast ? 1 : 0)
        }
        fed += bytes.count
        if let failure { throw failure }
        if fed - lastElement > Self.longestGap { throw BadXML("no element begins or ends within 128 KiB") }
        guard status == XML_STATUS_OK else {
            let line = XML_GetCurrentLineNumber(parser)
            let reason = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "not well-formed"
            throw BadXML("line \(line): \(reason)")
        }
    }
}

/// The fault in an XML answer.
package struct BadXML: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

extension XMLStream {
    /// Text for use between two tags. Characters that XML 1.0 does not have (2.2) become U+FFFD.
    package static func escaped(_ text: String) -> String {
        let isAllowed = { (one: Unicode.Scalar) in
            one.value >= 0x20 && one.value & ~1 != 0xfffe || "\t\n\r".unicodeScalars.contains(one)
        }
        var plain = String.UnicodeScalarView()
        plain.append(contentsOf: text.unicodeScalars.map { isAllowed($0) ? $0 : "\u{fffd}" })
        return String(plain).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
