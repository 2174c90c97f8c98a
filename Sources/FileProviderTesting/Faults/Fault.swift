public import FileProvider

/// What goes wrong in one call of a ``FaultInjectingProvider``.
public enum Fault: Sendable {
    /// The call throws this, and the store is not asked.
    case error(FileProviderError)
    /// The call hangs until the gate is opened, and goes on then; a cancelled call throws
    /// `FileProviderError.Code.cancelled`.
    case hang(Gate)
    /// The call is carried out, but its reply is lost: it throws
    /// `FileProviderError.Code.serverUnreachable`. Errors of the store come through.
    case lostReply
    /// The call is carried out at once, and its answer (bytes and errors too) held back until the gate is opened: by
    /// then it may be old. A cancelled call throws `FileProviderError.Code.cancelled`.
    case lateAnswer(Gate)
    /// The answer comes twice: of a download every piece, of an enumeration every item on its page.
    case duplicate
    /// The connection breaks when so many bytes of the contents have been sent, in either direction, with
    /// `FileProviderError.Code.serverUnreachable`. A transfer of no more bytes is left alone; a call
    /// without contents breaks at once. What the store makes of a change says ``Disconnection``.
    case disconnect(after: Int64, Disconnection)
    /// A download: only so many bytes arrive, then the call throws `error`, or returns as if all were
    /// well (nil), which no honest provider does. A download of no more bytes than that is left alone.
    case truncatedDownload(after: Int64, error: FileProviderError?)
    /// A download: so many zero bytes are written behind the end of the range.
    case surplusBytes(Int)
}

/// What a store makes of a change when the connection has broken under it.
public enum Disconnection: Sendable {
    /// Nothing: it waited for the rest.
    case undone
    /// It had enough: the change is made before the call throws.
    case done
    /// It has it all and is slow: the change is made, or refused, when the gate is opened, long after the call has
    /// thrown. ``FaultPlan/finishedLateChanges`` says when.
    case doneLater(Gate)
}
