import FileProvider
import Trees

/// The wait after a failed attempt. A change is never given up.
enum RetryDelay {
    /// In seconds; doubles with every attempt, up to the longest.
    ///
    /// - Parameter isAlone: the store answers all other requests.
    static func seconds(
        after attempts: Int64, _ code: FileProviderError.Code?, _ times: SyncTimes, isAlone: Bool = false
    ) -> Double {
        // A failure that will not pass by itself is retried rarely from the start.
        let isRefused = code.flatMap { Refusal($0) } != nil
        let first = isRefused ? max(30, times.firstRetry) : times.firstRetry
        // The network may come back any moment, and one try is enough for all changes.
        let isAway = code == .serverUnreachable && !isAlone
        let longest = isAway ? min(30, times.longestRetry) : times.longestRetry
        return min(longest, first * Double(1 << min(attempts, 20)))
    }
}
