import Foundation
import Logging

/// Where a daemon's log goes: to the journal when it runs under it, else to standard error, which in the background is
/// the log file. Whatever part of the process logs, with swift-log, goes there.
enum DaemonLog {
    /// Once a process, before anything is logged.
    ///
    /// - Parameter file: what standard error is connected to, if it is a log of ours.
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

/// Keeps secrets out of what another handler writes, whoever put them there.
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
