public import FileProvider

/// What goes wrong in one call of a ``FaultInjectingProvider``.
public enum Fault: Sendable {
    /// The call throws this, and the store is not asked.
    case error(FileProviderError)
    /// The call hangs until the gate is opened, and goes on then; a cancelled call throws
    /// ``FileProviderError/Code/cancelled``.
    case hang(Gate)
    /// The call is carried out, but its reply is lost: it throws
    /// ``FileProviderError/Code/serverUnreachable``. Errors of the store come through.
    case lostReply
    /// A download: only so many bytes arrive, then the call throws `error`, or returns as if all were
    /// well (nil), which no honest provider does. A download of no more bytes than that is left alone.
    case truncatedDownload(after: Int64, error: FileProviderError?)
    /// A download: so many zero bytes are written behind the end of the range.
    case surplusBytes(Int)
}
