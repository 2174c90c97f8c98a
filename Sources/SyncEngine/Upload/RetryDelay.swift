import FileProvider
import ItemCatalog

/// How long to wait after a failed attempt. A change is never given up.
enum RetryDelay {
    /// Seconds; doubles with every attempt, up to the longest.
    static func seconds(after attempts: Int64, _ code: FileProviderError.Code?, _ times: SyncTimes) -> Double {
        // What will not get better by itself is tried rarely from the start.
        if let code, Refusal(code) != nil { return min(times.longestRetry, max(30, times.firstRetry)) }
        // The network may come back any moment, and one try tells for all.
        let longest = code == .serverUnreachable ? min(30, times.longestRetry) : times.longestRetry
        return min(longest, times.firstRetry * Double(1 << min(attempts, 20)))
    }
}
