import Foundation
import Logging
import Surroundings

/// Logs to systemd's journal: `MESSAGE` is the text followed by the metadata, for readers; each metadata value is also
/// a field `HYDRANT_…`, for searches: `journalctl HYDRANT_ITEM=report.txt`.
struct JournalLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let identifier: String
    private let socket: JournalSocket?

    init(label: String, identifier: String, socket: JournalSocket?) {
        self.label = label
        self.identifier = identifier
        self.socket = socket
        metadataProvider = LoggingSystem.metadataProvider
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        for more in [metadataProvider?.get(), event.metadata] { all.merge(more ?? [:]) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        let facts = all.sorted { $0.key < $1.key }
        let message = ShownText.lines(
            ([event.message.description] + facts.map { "\($0)=\($1)" }).joined(separator: " "))
        let priority = Self.priority(event.level)
        var fields: [(name: String, value: String)] = [
            ("MESSAGE", message), ("PRIORITY", "\(priority)"), ("SYSLOG_IDENTIFIER", identifier),
            ("LOGGER", label), ("CODE_FILE", event.file), ("CODE_LINE", "\(event.line)"), ("CODE_FUNC", event.function),
        ]
        fields += facts.map { (Self.field($0), "\($1)") }
        if socket?.send(fields) == true { return }
        // Standard error leads to the journal as well, line by line, with the priority first (sd-daemon(3)).
        let line = ShownText.line(message)
        FileHandle.standardError.write(Data("<\(priority)>\(line)\n".utf8))
    }

    /// The level as a syslog(3) priority.
    static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// Field names in the journal have capital letters, digits and underscores, at most 64 characters, and start with a
    /// letter.
    static func field(_ key: String) -> String {
        let word = key.utf8.map { byte -> Character in
            let character = Character(UnicodeScalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber)
                ? Character(character.uppercased()) : "_"
        }
        return String(("HYDRANT_" + word).prefix(64))
    }
}
