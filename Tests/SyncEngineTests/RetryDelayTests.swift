import FileProvider
import Testing

@testable import SyncEngine

@Suite struct RetryDelayTests {
    @Test(arguments: [
        (FileProviderError.Code.cannotSynchronize, Int64(0), 1.0), (.cannotSynchronize, 1, 2),
        (.cannotSynchronize, 5, 32), (.cannotSynchronize, 20, 300), (.cannotSynchronize, 1_000, 300),
        (.serverUnreachable, 3, 8), (.serverUnreachable, 9, 30), (.permissionDenied, 0, 30), (.permissionDenied, 1, 60),
        (.insufficientQuota, 4, 300), (.busy, 0, 1),
    ])
    func retriesBecomeRarer(code: FileProviderError.Code, attempts: Int64, seconds: Double) {
        #expect(RetryDelay.seconds(after: attempts, code, SyncTimes()) == seconds)
    }
}
