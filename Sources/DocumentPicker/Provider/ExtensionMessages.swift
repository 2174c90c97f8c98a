import Foundation

/// The picker's messages to an extension in a process of its own: JSON objects, one a line, on its standard input.
enum ExtensionRequest: Codable {
    struct Presentation: Codable {
        var mode: DocumentPickerMode
        var original: String?
        var types: [String]?
        var providerIdentifier: String?
        var documentStorage: String?
        var documentGroup: String?
    }
    case prepare(Presentation)
    case action(PickerAction)
    /// ``ExtensionReply/dismiss`` was accepted.
    case dismissed
    /// ``ExtensionReply/dismiss`` was refused, for this reason.
    case refused(String)

    private enum Key: String, CodingKey { case prepare, action, dismissed, refused }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let presentation = try container.decodeIfPresent(Presentation.self, forKey: .prepare) {
            self = .prepare(presentation)
        } else if let action = try container.decodeIfPresent(PickerAction.self, forKey: .action) {
            self = .action(action)
        } else if let message = try container.decodeIfPresent(String.self, forKey: .refused) {
            self = .refused(message)
        } else {
            self = .dismissed
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .prepare(let presentation): try container.encode(presentation, forKey: .prepare)
        case .action(let action): try container.encode(action, forKey: .action)
        case .dismissed: try container.encode(true, forKey: .dismissed)
        case .refused(let message): try container.encode(message, forKey: .refused)
        }
    }
}

/// The extension's messages to the picker, on its standard output.
enum ExtensionReply: Codable {
    case page(PickerPage)
    /// A path, or a file URL.
    case dismiss(String)
    /// The user's action failed, for this reason.
    case failed(String)

    private enum Key: String, CodingKey { case page, dismiss, failed }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let page = try container.decodeIfPresent(PickerPage.self, forKey: .page) {
            self = .page(page)
        } else if let url = try container.decodeIfPresent(String.self, forKey: .dismiss) {
            self = .dismiss(url)
        } else {
            self = .failed(try container.decode(String.self, forKey: .failed))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .page(let page): try container.encode(page, forKey: .page)
        case .dismiss(let url): try container.encode(url, forKey: .dismiss)
        case .failed(let message): try container.encode(message, forKey: .failed)
        }
    }
}

/// JSON objects, one a line.
enum JSONLine {
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value) + Data("\n".utf8)
    }

    /// The lines of a descriptor, until its end, read on a thread of their own.
    static func read(_ descriptor: Int32) -> AsyncStream<Data> {
        let (lines, inbox) = AsyncStream<Data>.makeStream()
        Thread {
            var rest = Data()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                rest.append(contentsOf: buffer[..<count])
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    inbox.yield(Data(rest[..<end]))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            inbox.finish()
        }.start()
        return lines
    }
}
