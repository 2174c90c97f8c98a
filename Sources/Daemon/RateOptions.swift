import ControlAPI

/// Parses bandwidth limits.
extension DaemonConfiguration {
    /// `2M`, `500K`, `1.5 MiB/s`: bytes a second, powers of 1024; `none` is nil. Refuses less than 1 KiB a second;
    /// `hydrant pause` stops all transfers.
    ///
    /// - Parameter option: the option's name, for the error message.
    package static func rate(_ text: String, of option: String) throws(DaemonError) -> Int64? {
        if text.lowercased() == "none" { return nil }
        let size = text.lowercased().hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let bytes = bytes(size) else {
            throw DaemonError("\(option) \(text): not a rate; write 2M, 500K, a number of bytes a second, or none")
        }
        guard bytes >= ControlRequest.rates.lowerBound else {
            throw DaemonError("\(option) \(text): less than 1K a second; to stop transfers use hydrant pause")
        }
        guard bytes <= ControlRequest.rates.upperBound else {
            throw DaemonError("\(option) \(text): more than 1024T a second; for no limit write none")
        }
        return bytes
    }
}
