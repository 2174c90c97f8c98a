import Foundation
import XMLStream

/// A small XML answer: the text of each element, with the names of the elements around it.
struct S3Answer {
    private(set) var values: [(path: String, text: String)] = []

    /// - Throws: ``BadXML``.
    init(_ bytes: [UInt8]) throws {
        var bytes = bytes
        let controls = ControlReferences(in: &bytes)
        var path: [String] = []
        var text: [UInt8] = []
        var found: [(path: String, text: String)] = []
        let stream = XMLStream(
            began: { name in
                // Without the namespace.
                path.append(String(String(cString: name).split(separator: "|").last ?? ""))
                text = []
            },
            text: { text += $0 },
            ended: {
                if found.count < Self.most {
                    found.append((path.joined(separator: "/"), String(decoding: controls.restore(text), as: UTF8.self)))
                }
                text = []
                path.removeLast()
            })
        try bytes.withUnsafeBytes { try stream.feed($0, isLast: true) }
        values = found
    }

    private static let most = 100_000

    /// The text of the first element at this path: `Error/Code`.
    subscript(path: String) -> String? { values.first { $0.path == path }?.text }
}

/// A server's refusal.
///
/// Source: *Amazon S3 API Reference, Error Responses*.
struct S3Refusal: Sendable {
    var status: Int
    /// `NoSuchKey`; empty where the answer has no body (HEAD) or another one.
    var code = ""
    var message = ""
    /// The bucket's region, where the server says that another one was addressed.
    var region: String?

    init(status: Int, region: String? = nil, body: [UInt8]) {
        self.status = status
        self.region = region
        guard let answer = try? S3Answer(body) else { return }
        code = answer["Error/Code"] ?? ""
        message = String((answer["Error/Message"] ?? "").prefix(300))
        self.region = region ?? answer["Error/Region"]
    }

    /// The condition of the request does not hold.
    var isMismatch: Bool { status == 412 }

    /// The same request may soon succeed.
    var mayPass: Bool {
        switch status {
        case 500, 502, 503, 504, 429: true
        case 409: code == "OperationAborted" || code == "ConditionalRequestConflict"
        case 400: code == "RequestTimeout"
        default: false
        }
    }
}
