import Foundation
import Testing

@testable import ControlAPI

/// Names that are not UTF-8, where strings are all there is.
@Suite struct ByteTextTests {
    @Test(
        arguments: [
            [], Array("/plain/näme 📄".utf8), [0x2f, 0xff], Array("caf".utf8) + [0xe9], [0xe2, 0x82],
            [0xf0, 0x9f, 0x93],
            [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], Array(1...255),
            // What stands for 0xff, as a name of its own, and behind a byte that is no UTF-8.
            Array("\u{10feff}".utf8), [0xff] + Array("a\u{10fe80}\u{10fdff}\u{10ff00}".utf8),
        ] as [[UInt8]])
    func theyComeBackAsTheyWere(_ bytes: [UInt8]) {
        let text = ByteText.text(bytes)
        #expect(ByteText.bytes(text) == bytes)
        #expect(ByteText.shown(text) == String(decoding: bytes, as: UTF8.self))
        let path = ByteText.text([0x2f] + bytes.filter { $0 != 0x2f })
        #expect(ByteText.text(of: ByteText.url(path)) == path)
    }

    @Test func whatIsUTF8StaysAsItIs() {
        for text in ["", "/a b/%41", "näme", "\u{10fdff}\u{10ff00}"] {
            #expect(ByteText.text(text.utf8) == text && ByteText.bytes(text) == Array(text.utf8))
        }
    }
}
