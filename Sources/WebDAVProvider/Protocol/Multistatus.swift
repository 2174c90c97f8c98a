import Glibc
import HTTPTransport
import XMLStream

/// One `response` of a 207 answer (RFC 4918, 14.24).
package struct DAVResponse {
    var href = ""
    /// The status of the whole resource, if there is one.
    var status: Int?
    /// Properties with status 200.
    var properties = DAVProperties()
    var isFolder = false

    /// The bytes that it takes to keep this response.
    var size: Int { href.utf8.count + properties.size }

    /// Absent, or only a lock on a name, as Apache keeps one.
    var isNothing: Bool {
        status == 404 || !isFolder && properties[.contentLength] == nil && properties[.lastModified] == nil
    }
}

/// Parses a 207 answer as it arrives.
package final class MultistatusReader {
    package init() {}

    /// From a `sync-collection` report (RFC 6578, 6.4).
    private(set) var syncToken: String?
    private var complete: [DAVResponse] = []
    private var response: DAVResponse?
    private var isMultistatus = false
    private var isDone = false
    /// The stack of open elements.
    private var open: [Element] = []
    private var text: [UInt8] = []
    private var found: [(DAVProperty, String)] = []
    private var foundFolder = false
    private var statusOfProperties: Int?
    private lazy var stream = XMLStream(
        began: { [unowned self] in try self.began($0) }, text: { [unowned self] in try self.take($0) },
        ended: { [unowned self] in self.ended() })

    /// The offset in the answer at which the last response ended.
    private var lastResponse = 0

    /// In bytes; for one value.
    private static let longestValue = 64 << 10
    /// In bytes; for one response, which is kept until it ends.
    private static let longestResponse = 256 << 10

    /// - Returns: the responses that are complete now.
    package func feed(_ bytes: UnsafeRawBufferPointer) throws -> [DAVResponse] {
        try stream.feed(bytes, isLast: false)
        defer { complete = [] }
        return complete
    }

    /// The body has ended.
    ///
    /// - Throws: when the answer is not complete.
    package func finish() throws {
        try stream.feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
        guard isDone else { throw BadXML("it is not a list of resources") }
    }

    /// The elements that matter.
    private enum Element: Equatable {
        case multistatus, response, propstat, prop, collection, href, status
        case property(DAVProperty)
        case other

        private static let structure: [(StaticString, Element)] = [
            ("DAV:|response", .response), ("DAV:|propstat", .propstat), ("DAV:|prop", .prop), ("DAV:|href", .href),
            ("DAV:|status", .status), ("DAV:|collection", .collection), ("DAV:|multistatus", .multistatus),
        ]

        init(_ name: XMLStream.Name) {
            if let known = Self.structure.first(where: { strcmp($0.0.utf8Start, name) == 0 }) {
                self = known.1
            } else {
                self = DAVProperty(element: name).map { .property($0) } ?? .other
            }
        }
    }

    private func began(_ name: XMLStream.Name) throws {
        guard stream.lastElement - lastResponse <= Self.longestResponse else {
            throw BadXML("no entry ends within 256 KiB")
        }
        let element = Element(name)
        if open.isEmpty {
            guard element == .multistatus else {
                throw BadXML("it is not a list of resources (\(String(cString: name)))")
            }
            isMultistatus = true
        }
        open.append(element)
        switch (open.count, element) {
        case (2, .response): response = DAVResponse()
        case (3, .propstat):
            found.removeAll(keepingCapacity: true)
            (foundFolder, statusOfProperties) = (false, nil)
        case (6, .collection) where open[4] == .property(.resourceType): foundFolder = true
        default: break
        }
        // Elements inside a value (an `href` in a resource-id) belong to the value.
        if open.count <= 5 { text.removeAll(keepingCapacity: true) }
    }

    private func take(_ characters: UnsafeBufferPointer<UInt8>) throws {
        guard open.count >= 2 else { return }
        text += characters
        guard text.count <= Self.longestValue else { throw BadXML("a value has more than 64 KiB") }
    }

    private var value: String { String(decoding: text, as: UTF8.self).trimmingASCIIWhitespace() }

    private func ended() {
        let depth = open.count
        switch (depth, open.removeLast()) {
        case (1, _): isDone = isMultistatus
        case (2, .response):
            if let response { complete.append(response) }
            response = nil
            lastResponse = stream.lastElement
        case (2, .property(.syncToken)): syncToken = value
        case (3, .href): response?.href = value
        case (3, .status): response?.status = Self.status(value)
        case (3, .propstat):
            guard statusOfProperties.map({ 200..<300 ~= $0 }) ?? true else { return }
            for (property, value) in found { response?.properties[property] = value }
            if foundFolder { response?.isFolder = true }
        case (4, .status): statusOfProperties = Self.status(value)
        case (5, .property(let property)) where open[3] == .prop: found.append((property, value))
        case (6, _):
            // Between the texts of a list.
            if case .property(let property) = open[4], property.isList { text.append(UInt8(ascii: "\n")) }
        default: break
        }
    }

    /// From `HTTP/1.1 200 OK`.
    private static func status(_ line: String) -> Int? {
        let words = line.utf8.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return words.count > 1 ? Int(Substring(words[1])) : nil
    }
}
