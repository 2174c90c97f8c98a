import Foundation
import Logging

/// The destination of a daemon's log: the journal under systemd, else standard error, which is the log file in the
/// background. All swift-log messages of the process go there.
enum DaemonLog {
    /// Call this once in a process, before the first message.
    ///
    /// - Parameter file: the log file that standard error is connected to, if it is one of ours.
    static func begin(level: Logger.Level, secrets: Secrets, program: String, file: LogFile?) {
        let inJournal = JournalSocket.isStandardError(named: getenv("JOURNAL_STREAM").map { String(cString: $0) })
        let socket = inJournal ? JournalSocket() : nil
        LoggingSystem.bootstrap { label in
            var handler: any LogHandler =
                if inJournal {
                    JournalLogHandler(label: label, identifier: program, socket: socket)
                } else {
                    StreamLogHandler(label: label, stream: LogStream(file))
                }
            handler.logLevel = level
            return secrets.values.isEmpty ? handler : ScrubbingLogHandler(handler, secrets)
        }
    }
}

/// Removes secrets from the messages before another handler writes them.
struct ScrubbingLogHandler: LogHandler {
    private var handler: any LogHandler
    private let secrets: Secrets

    init(_ handler: any LogHandler, _ secrets: Secrets) {
        self.handler = handler
        self.secrets = secrets
    }

    var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }
    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue.mapValues(scrubbed) }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue.map(scrubbed) }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(secrets.scrubbed(event.message.description))"
        event.metadata = event.metadata?.mapValues(scrubbed)
        if let error = event.error {
            event.metadata = (event.metadata ?? [:]).merging(["error": "\(secrets.scrubbed("\(error)"))"]) { $1 }
            event.error = nil
        }
        handler.log(event: event)
    }

    private func scrubbed(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
        .string(secrets.scrubbed(value.description))
    }
}
