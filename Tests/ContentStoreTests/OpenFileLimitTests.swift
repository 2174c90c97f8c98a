import Testing

@testable import ContentStore

@Suite struct OpenFileLimitTests {
    /// Of so many files, from which number on they are the daemon's own.
    @Test(arguments: [(1_024, 768), (400, 300), (64, 48), (1_048_576, 1_048_320)])
    func theLastNumbersAreReserved(limit: Int64, first: Int32) {
        #expect(!OpenFileLimit.isReserved(first - 1, of: limit))
        #expect(OpenFileLimit.isReserved(first, of: limit))
    }

    @Test func withoutALimitNothingIsReserved() {
        #expect(!OpenFileLimit.isReserved(1_000_000, of: -1))
    }
}
