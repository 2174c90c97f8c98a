import SyncEngine

/// Parses the limits of the cache.
extension DaemonConfiguration {
    /// `--cache-limit`: a size, or `none`.
    package mutating func setCacheLimit(_ text: String) throws(DaemonError) {
        if text.lowercased() == "none" {
            cache.most = nil
        } else if let bytes = Self.bytes(text) {
            cache.most = bytes
        } else {
            throw DaemonError("--cache-limit \(text): not a size; write 10G, 500M, 1T, a number of bytes, or none")
        }
    }

    /// `--min-free`: a size, or a percentage of the disk.
    package mutating func setMinimumFree(_ text: String) throws(DaemonError) {
        if text.hasSuffix("%"), let percent = Double(text.dropLast()), (0..<100).contains(percent) {
            cache.minimumFree = .percent(percent)
        } else if let bytes = Self.bytes(text) {
            cache.minimumFree = .bytes(bytes)
        } else {
            throw DaemonError("--min-free \(text): not a size or a share; write 2G, 500M, a number of bytes, or 5%")
        }
    }

    /// `--read-ahead`: a size, or `none`.
    package mutating func setReadAhead(_ text: String) throws(DaemonError) {
        if text.lowercased() == "none" {
            cache.ahead = 0
        } else if let bytes = Self.bytes(text) {
            cache.ahead = bytes
        } else {
            throw DaemonError("--read-ahead \(text): not a size; write 8M, 500K, a number of bytes, or none")
        }
    }

    /// `10G`, `1.5 TiB`, `4096`: powers of 1024. Nil: not a size, or larger than any disk.
    static func bytes(_ text: String) -> Int64? {
        let units: [Character: Int] = ["K": 10, "M": 20, "G": 30, "T": 40, "P": 50]
        var rest = text.uppercased()
        for ending in ["IB", "B"] where rest.hasSuffix(ending) {
            rest.removeLast(ending.count)
            if ending == "IB", rest.last.flatMap({ units[$0] }) == nil { return nil }
            break
        }
        var shift = 0
        if let unit = rest.last.flatMap({ units[$0] }) {
            shift = unit
            rest.removeLast()
        }
        rest = String(rest.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        guard rest.first?.isNumber == true, rest.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let number = Double(rest)
        else { return nil }
        let bytes = number * Double(1 << shift)
        return bytes < 0x1p62 ? Int64(bytes) : nil
    }
}
