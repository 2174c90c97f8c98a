import FileProvider
import Testing
import Trees

/// The table, row by row. What each resolution does is seen in UploadQueueTests, MoveTests and at the mount.
@Suite struct ConflictTableTests {
    private typealias Row = (
        step: ConflictTable.Kind, answer: FileProviderError.Code, found: ConflictTable.Found,
        resolution: ConflictTable.Resolution
    )
    private static let all = ConflictTable.Found.allCases
    private static let rows: [Row] =
        [
            (.create, .filenameCollision, .same, .confirm),
            (.create, .filenameCollision, .different, .keepBoth),
            (.create, .filenameCollision, .unknown, .listFolder),
            (.uploadContents, .versionMismatch, .same, .confirm),
            (.uploadContents, .versionMismatch, .different, .keepBoth),
            (.uploadContents, .versionMismatch, .unknown, .keepBoth),
        ] + all.map { (.create, .noSuchItem, $0, .refreshFolder) }
        + all.map { (.uploadContents, .noSuchItem, $0, .recreate) }
        + all.map { (.move, .filenameCollision, $0, .giveWay) }
        + all.map { (.move, .versionMismatch, $0, .refreshFirst) }
        + all.map { (.move, .noSuchItem, $0, .refreshFirst) }
        + all.map { (.updateMetadata, .versionMismatch, $0, .refreshFirst) }
        + all.map { (.updateMetadata, .noSuchItem, $0, .refreshFirst) }
        + all.map { (.updateMetadata, .unsupported, $0, .keepLocal) }
        + all.map { (.delete, .noSuchItem, $0, .confirm) }
        + all.map { (.delete, .versionMismatch, $0, .takeBackDeletion) }
        + all.map { (.delete, .directoryNotEmpty, $0, .takeBackDeletion) }

    private static let codes: [FileProviderError.Code] = [
        .noSuchItem, .filenameCollision, .versionMismatch, .serverUnreachable, .notAuthenticated, .permissionDenied,
        .insufficientQuota, .cannotSynchronize, .directoryNotEmpty, .busy, .cancelled, .invalidName, .unsupported,
        .readOnly,
    ]

    /// Every combination: a row says what it comes to, and what has no row is a failure that is tried again.
    @Test(arguments: ConflictTable.Kind.allCases) func everyConflictHasItsRow(step: ConflictTable.Kind) {
        for answer in Self.codes {
            for found in ConflictTable.Found.allCases {
                let row = Self.rows.first { $0.step == step && $0.answer == answer && $0.found == found }
                #expect(
                    ConflictTable.resolution(of: step, answer, found) == row?.resolution,
                    "\(step), \(answer), \(found)")
            }
        }
    }

    /// A local change is given up only where the store has the same, or has it no more and nothing is wanted there.
    @Test func noRowLosesAChange() {
        for row in Self.rows where row.resolution == .confirm {
            #expect(row.found == .same || row.step == .delete, "\(row)")
        }
    }
}
