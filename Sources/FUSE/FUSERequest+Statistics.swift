// In a file of its own: a file that imports CFUSE would use CFUSE's `stat` and `statvfs`, which must not become public.
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
