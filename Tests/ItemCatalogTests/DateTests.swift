import FileProvider
import Testing

@testable import ItemCatalog
@testable import Trees

/// Any date that a file can have: not only those whose nanoseconds since 1970 fit into 64 bits (1677 to 2262).
@Suite struct DateTests {
    /// 1066, the last moment before and the first after the numbers, 2500, and what no calendar has.
    static let dates = [
        FileTime(seconds: -28_501_372_800, nanoseconds: 123_456_789), FileTime(seconds: -9_223_372_037),
        FileTime(seconds: 9_223_372_036, nanoseconds: 854_775_808), FileTime(seconds: 16_725_225_600, nanoseconds: 1),
        FileTime(seconds: .min), FileTime(seconds: .max, nanoseconds: 999_999_999),
    ]

    @Test func secondsAndFractions() {
        #expect(FileTime(nanoseconds: -1) == FileTime(seconds: -1, nanoseconds: 999_999_999))
        #expect(FileTime(seconds: 5, nanoseconds: -1) == FileTime(seconds: 4, nanoseconds: 999_999_999))
        #expect(FileTime(seconds: 1, nanoseconds: 2_500_000_000) == FileTime(nanoseconds: 3_500_000_000))
        for number in [Int64.min, .min + 1, -1_000_000_000, -1, 0, 1, 1_700_000_000_123_456_789, .max] {
            #expect(FileTime(nanoseconds: number).nanoseconds == number)
        }
        // Nearest, where there is no such number.
        #expect(FileTime(seconds: 16_725_225_600).nanoseconds == .max)
        #expect(FileTime(seconds: -28_501_372_800).nanoseconds == .min)
        let all = [Self.dates[4], Self.dates[0], Self.dates[1], FileTime(nanoseconds: .min), FileTime(nanoseconds: 0)]
        #expect(all.shuffled().sorted() == all)
        #expect(FileTime(nanoseconds: .max) < Self.dates[2] && Self.dates[2] < Self.dates[3])
    }

    @Test(arguments: dates) func theCatalogKeepsThem(_ date: FileTime) throws {
        let test = try TestCatalog()
        var item = remote("A", "a", content: "v1", metadata: "m1", size: 3)
        (item.contentModificationDate, item.creationDate) = (date, date)
        try test.list([item])
        func shown() throws -> InodeRecord? { try test.catalog.read { try $0.child(of: .root, named: "a") } }
        let placeholder = try #require(try shown())
        #expect(placeholder.modified == date && placeholder.born == date)
        let row = try test.catalog.read { try $0.item(of: placeholder.id) }
        #expect(row?.remoteFacts.modified == date && row?.remoteFacts.born == date)
        // A program sets them.
        for date in Self.dates {
            _ = try test.catalog.write {
                try $0.setAttributes(placeholder.id, to: AttributeChange(accessed: date, modified: date), settle: 0)
            }
            let found = try #require(try shown())
            #expect(found.modified == date && found.accessed == date)
        }
    }
}
