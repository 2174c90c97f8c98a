// Not beside the other replies: a file that imports CFUSE takes `stat` and `statvfs` for
// CFUSE's, which must not be seen outside.
public import Glibc

extension FUSERequest {
    @discardableResult
    public consuming func reply(attributes: stat, timeout: Double) -> Bool {
        send(attributes: attributes, timeout: timeout)
    }

    /// For statfs.
    @discardableResult
    public consuming func reply(statistics: statvfs) -> Bool {
        send(statistics: statistics)
    }
}
