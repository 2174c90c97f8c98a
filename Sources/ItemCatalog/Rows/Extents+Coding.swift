import Trees

extension RangeSet<Int64> {
    /// Decodes column `inode.extents`: pairs of little-endian 64-bit offsets.
    init(blob: [UInt8]) {
        self.init()
        var index = 0
        func next() -> Int64 {
            defer { index += 8 }
            return blob[index..<index + 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        while index + 16 <= blob.count {
            let lower = next()
            let upper = next()
            if lower < upper { insert(contentsOf: lower..<upper) }
        }
    }

    var blob: [UInt8] {
        var bytes: [UInt8] = []
        for range in ranges {
            for bound in [range.lowerBound, range.upperBound] {
                for shift in stride(from: 0, to: 64, by: 8) {
                    bytes.append(UInt8(truncatingIfNeeded: bound >> Int64(shift)))
                }
            }
        }
        return bytes
    }
}
