public import FileProvider

/// A fault in one call of a ``FaultInjectingProvider``.
public enum Fault: Sendable {
    /// The call throws this error, and the store is not asked.
    case error(FileProviderError)
    /// The call hangs until the gate is opened, and then goes on; a cancelled call throws
    /// `FileProviderError.Code.cancelled`.
    case hang(Gate)
    /// The call is carried out, but its reply is lost: it throws `FileProviderError.Code.serverUnreachable`. Errors of
    /// the store come through.
    case lostReply
    /// The call is carried out at once, but its answer (bytes and errors too) is held back until the gate is opened,
    /// and may be outdated by then. A cancelled call throws `FileProviderError.Code.cancelled`.
    case lateAnswer(Gate)
    /// A download: all bytes come, and the call returns when the gate is opened. A cancelled call throws
    /// `FileProviderError.Code.cancelled`.
    case lateEnd(Gate)
    /// The answer comes twice: every piece of a download, every item on a page of an enumeration.
    case duplicate
    /// The connection breaks after this many bytes of the contents, in either direction, with
    /// `FileProviderError.Code.serverUnreachable`. A transfer of no more bytes succeeds; a call without contents fails
    /// at once. ``Disconnection`` says whether the store makes the change.
    case disconnect(after: Int64, Disconnection)
    /// A download: only this many bytes arrive, then the call throws `error`, or returns normally (nil), which no
    /// correct provider does. A download of no more bytes succeeds.
    case truncatedDownload(after: Int64, error: FileProviderError?)
    /// A download: this many zero bytes are written beyond the end of the range.
    case surplusBytes(Int)
}

/// Whether a store makes a change whose connection has broken.
public enum Disconnection: Sendable {
    /// No: the store waited for the rest.
    case undone
    /// Yes: the store makes the change before the call throws.
    case done
    /// The store has all bytes and is slow: it makes or refuses the change when the gate is opened, long after the call
    /// has thrown. ``FaultPlan/finishedLateChanges`` tells when.
    case doneLater(Gate)
}
