import HTTPTransport

/// One `response` of a 207 answer (RFC 4918, 14.24).
struct DAVResponse {
    var href = ""
    /// Of the resource as a whole, where it is said.
    var status: Int?
    /// Those that the server has, with status 200.
    var properties: [DAVProperty: String] = [:]
    var isFolder = false

    /// Not there: or no more than a lock on a name, as Apache keeps one.
    var isNothing: Bool {
        status == 404 || !isFolder && properties[.contentLength] == nil && properties[.lastModified] == nil
    }
}

/// Reads a 207 answer as it comes.
final class MultistatusReader {
    /// Of a `sync-collection` report (RFC 6578, 6.4).
    private(set) var syncToken: String?
    private var complete: [DAVResponse] = []
    private var response: DAVResponse?
    private var isMultistatus = false
    private var isDone = false
    /// The names of the elements that are open.
    private var open: [String] = []
    private var text = ""
    private var found: [DAVProperty: String] = [:]
    private var foundFolder = false
    private var statusOfProperties: Int?
    private lazy var stream = XMLStream(
        began: { [unowned self] in try self.began($0) }, text: { [unowned self] in try self.take($0) },
        ended: { [unowned self] in self.ended($0) })

    /// In bytes, of one value.
    private static let longestValue = 64 << 10

    /// - Returns: the responses that are complete now.
    func feed(_ bytes: UnsafeRawBufferPointer) throws -> [DAVResponse] {
        try stream.feed(bytes, isLast: false)
        defer { complete = [] }
        return complete
    }

    /// The body has ended.
    ///
    /// - Throws: when the answer has not.
    func finish() throws {
        try stream.feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
        guard isDone else { throw BadXML("it is no list of resources") }
    }

    private func began(_ name: String) throws {
        if open.isEmpty {
            guard name == "DAV:|multistatus" else { throw BadXML("it is no list of resources (\(name))") }
            isMultistatus = true
        }
        open.append(name)
        switch open.count {
        case 2 where name == "DAV:|response": response = DAVResponse()
        case 3 where name == "DAV:|propstat":
            (found, foundFolder, statusOfProperties) = ([:], false, nil)
        case 6 where name == "DAV:|collection" && open[4] == DAVProperty.resourceType.rawValue: foundFolder = true
        default: break
        }
        // What a value is made of (an `href` in a resource-id) belongs to it.
        if open.count <= 5 { text = "" }
    }

    private func take(_ characters: String) throws {
        guard open.count >= 2 else { return }
        text += characters
        guard text.utf8.count <= Self.longestValue else { throw BadXML("a value has more than 64 KiB") }
    }

    private func ended(_ name: String) {
        let depth = open.count
        open.removeLast()
        switch (depth, name) {
        case (1, _): isDone = isMultistatus
        case (2, "DAV:|response"):
            if let response { complete.append(response) }
            response = nil
        case (2, "DAV:|sync-token"): syncToken = text.trimmingASCIIWhitespace()
        case (3, "DAV:|href"): response?.href = text.trimmingASCIIWhitespace()
        case (3, "DAV:|status"): response?.status = Self.status(text)
        case (3, "DAV:|propstat"):
            guard statusOfProperties.map({ 200..<300 ~= $0 }) ?? true else { return }
            response?.properties.merge(found) { $1 }
            if foundFolder { response?.isFolder = true }
        case (4, "DAV:|status"): statusOfProperties = Self.status(text)
        case (5, _) where open[3] == "DAV:|prop":
            if let property = DAVProperty(rawValue: name) { found[property] = text.trimmingASCIIWhitespace() }
        default: break
        }
    }

    /// From `HTTP/1.1 200 OK`.
    private static func status(_ line: String) -> Int? {
        let words = line.split(separator: " ")
        return words.count > 1 ? Int(words[1]) : nil
    }
}
