import FileProvider
import Locking

/// Messages for people about changes that the provider refused.
extension StepRunner {
    func explanation(_ error: SyncError) -> String {
        guard case .provider(let failure) = error, failure.code == .insufficientQuota else { return error.description }
        let use = quota.last
        let numbers = use.flatMap { use in use.total.map { " (\(use.used) of \($0) bytes are used)" } } ?? ""
        return "the store has no room for it\(numbers): \(error.description)"
    }
}
