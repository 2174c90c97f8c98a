import Testing

@testable import DocumentInteraction

@Suite("Text of previews")
struct PreviewTextTests {
    @Test("encodings are told apart; binary data is not text")
    func decodes() {
        #expect(PlainText.decoded(Array("größe".utf8)) == "größe")
        #expect(PlainText.decoded([0xef, 0xbb, 0xbf] + Array("a".utf8)) == "a")
        #expect(PlainText.decoded([0xff, 0xfe, 0x61, 0x00, 0xfc, 0x00]) == "aü")
        #expect(PlainText.decoded([0x67, 0x72, 0xf6, 0xdf, 0x65]) == "größe")
        // Cut in the middle of a character.
        #expect(PlainText.decoded(Array("ab€".utf8.dropLast()), isWhole: false) == "ab")
        #expect(PlainText.decoded([0x61, 0x00, 0x62]) == nil)
    }

    @Test("no preview text controls the terminal, and it is bounded")
    func harmless() {
        let lines = PlainText.lines("a\tb\u{1b}[2J\u{9b}1m\r\nx\u{202e}y\u{7}\n\n\n", most: 10)
        #expect(lines == ["a       b\\x1b[2J\\x9b1m", "x\\u{202e}y\\x07"])
        #expect(PlainText.lines(String(repeating: "x\n", count: 100), most: 10).count == 11)
        let long = PlainText.lines(String(repeating: "y", count: 100_000), most: 10)
        #expect(long.count == 1 && long[0].count == 4_001 && long[0].hasSuffix("…"))
    }

    @Test("CSV becomes a table, with quotes, separators and wide characters, cut at the limit")
    func tables() {
        let table = DelimitedText("name;n\n\"x;y \"\"q\"\"\";1\nßé中文;22\n")
        #expect(table.rows == [["name", "n"], ["x;y \"q\"", "1"], ["ßé中文", "22"]])
        #expect(table.lines == ["name    │ n", "────────┼───", "x;y \"q\" │ 1", "ßé中文  │ 22"])
        #expect(DelimitedText("a,b\n\"two\nlines\u{1b}\",2").rows == [["a", "b"], ["two\\nlines\\x1b", "2"]])
        #expect(DelimitedText("a\tb\n1\t2", separator: "\t").rows.count == 2)
        #expect(DelimitedText("a,b\n1,2\n3,", isWhole: false).rows == [["a", "b"], ["1", "2"]])
        let large = DelimitedText(String(repeating: "1,2\n", count: 5_000))
        #expect(large.rows.count == 1_000 && large.hasMoreRows)
        let wide = DelimitedText(String(repeating: "1,", count: 500) + "1")
        #expect(wide.rows[0].count == 50 && wide.hasMoreColumns)
        #expect(DelimitedText("").lines == ["(there are no rows)"])
        #expect(DelimitedText("a\n" + String(repeating: "z", count: 3_000)).lines[2].count == 40)
    }

    @Test("a title is not read as a page count, and impossible counts are refused")
    func pages() {
        #expect(PDFDocument.pageCount("Title:  x\nPages:  999\nPages:          2\nEncrypted:      no\n") == 2)
        #expect(PDFDocument.pageCount("Pages:  0\n") == nil && PDFDocument.pageCount("Title: x\n") == nil)
        #expect(PDFDocument.pageCount("Pages: 99999999999999999999\n") == nil)
        #expect(PDFDocument.pageCount("Pages: \(Int.max)\n") == 10_000_000)
    }

    @Test("a program that draws a picture may set colours, and no other terminal state")
    func drawings() {
        #expect(PictureDrawing.harmless("\u{1b}[38;5;1m▄\u{1b}[0m") == "\u{1b}[38;5;1m▄\u{1b}[0m")
        #expect(PictureDrawing.harmless("\u{1b}[?25la\u{1b}[2Jb\u{1b}]0;t\u{7}c\u{9b}1m") == "ab]0;tc1m")
    }

    @Test("lines are cut and wrapped by their columns on the terminal")
    func widths() {
        #expect(TextWidth.columns(of: "a中e\u{301}") == 4)
        #expect(TextWidth.fitted("中文字", 4) == "中… ")
        #expect(TextWidth.fitted("ab", 4) == "ab  ")
        #expect(TextWidth.wrapped("abcdef", 4) == ["abcd", "ef"])
        #expect(TextWidth.wrapped("中文字", 4) == ["中文", "字"])
        #expect(TextWidth.wrapped("", 4) == [""])
    }

    @Test("the size of a picture is read from its bytes, never beyond their end")
    func sizes() {
        let png: [UInt8] =
            [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 1, 0, 0, 0, 0, 48]
            + [UInt8](repeating: 0, count: 8)
        #expect(PictureSize(png).map { [$0.width, $0.height] } == [256, 48])
        let jpeg: [UInt8] =
            [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 17, 8, 0, 9, 0, 7] + [UInt8](repeating: 0, count: 20)
        #expect(PictureSize(jpeg).map { [$0.width, $0.height] } == [7, 9])
        #expect(PictureSize(Array("GIF89a".utf8) + [5, 0, 6, 0] + [UInt8](repeating: 0, count: 30))?.height == 6)
        for length in 0..<40 {
            for start in [png, jpeg, Array("RIFF0000WEBPVP8X".utf8), [0xff, 0xd8, 0xff, 0xff, 0xff, 0xff]] {
                _ = PictureSize(Array((start + [UInt8](repeating: 0xff, count: 60)).prefix(length)))
            }
        }
    }
}
