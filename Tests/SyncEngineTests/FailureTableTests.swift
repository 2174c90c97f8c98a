import FileProvider
import Testing

@testable import SyncEngine

@Suite("The meanings of failures") struct FailureTableTests {
    @Test("every code of the SDK has its row", arguments: Array(FileProviderError.Code.allCases))
    func exhaustive(_ code: FileProviderError.Code) throws {
        let row = try #require(FailureTable.rows[code])
        #expect((1..<134).contains(row.errno))
        #expect(!row.reading.isEmpty)
        #expect(FailureTable.row(code).errno == row.errno)
    }

    @Test("a message names the file, the cause and the next step, each once")
    func line() {
        #expect(FailureTable.line("f/a", "no room", "make room") == "f/a: no room; make room")
        #expect(FailureTable.line("f/a", "f/a: no room", "make room") == "f/a: no room; make room")
        #expect(FailureTable.line("f/a", "replaced; open it again", "open it again") == "f/a: replaced; open it again")
    }

    @Test("the message for a change that is tried again includes a remedy")
    func sending() {
        #expect(FailureTable.next(sending: "serverUnreachable", inSeconds: 3.2) == "Hydrant tries again in 4 s")
        let signIn = FailureTable.next(sending: "notAuthenticated", inSeconds: 300)
        #expect(signIn == "sign in again; Hydrant tries again in 5 min")
        #expect(FailureTable.next(sending: nil, inSeconds: -1) == "Hydrant tries again in 0 s")
    }
}
