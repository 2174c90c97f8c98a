/// A picture's format and size, from its first bytes.
struct PictureSize: Equatable {
    let format: String
    let width: Int
    let height: Int

    private init(_ format: String, _ width: Int, _ height: Int) {
        (self.format, self.width, self.height) = (format, width, height)
    }

    /// Nil: not a picture of a known format.
    init?(_ bytes: [UInt8]) {
        func big(_ at: Int, _ count: Int = 2) -> Int { bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) } }
        func little(_ at: Int, _ count: Int = 2) -> Int {
            bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        func says(_ text: String, _ at: Int = 0) -> Bool {
            bytes.count >= at + text.utf8.count && bytes[at..<at + text.utf8.count].elementsEqual(text.utf8)
        }
        guard bytes.count >= 30 else { return nil }
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) {
            self.init("PNG", big(16, 4), big(20, 4))
        } else if says("GIF8") {
            self.init("GIF", little(6), little(8))
        } else if says("BM") {
            self.init("BMP", little(18, 4), abs(Int(Int32(truncatingIfNeeded: little(22, 4)))))
        } else if says("RIFF"), says("WEBP", 8) {
            if says("VP8X", 12) {
                self.init("WebP", little(24, 3) + 1, little(27, 3) + 1)
            } else if says("VP8L", 12) {
                let bits = little(21, 4)
                self.init("WebP", (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            } else {
                self.init("WebP", little(26) & 0x3fff, little(28) & 0x3fff)
            }
        } else if bytes.starts(with: [0xff, 0xd8]) {
            // Skip segments, up to the one that begins a frame (ITU-T T.81, B.2).
            var place = 2
            while place + 9 < bytes.count, bytes[place] == 0xff {
                let marker = bytes[place + 1]
                if (0xc0...0xcf).contains(marker), ![0xc4, 0xc8, 0xcc].contains(marker) {
                    self.init("JPEG", big(place + 7), big(place + 5))
                    return
                }
                place += 2 + max(2, big(place + 2))
            }
            return nil
        } else {
            return nil
        }
    }
}
