/// Shortens a failing sequence, and simplifies the rest, as long as it still fails (Zeller's delta debugging).
struct Shrinker {
    /// Whether a sequence fails.
    let fails: (OperationList) -> Bool
    /// The most sequences to try.
    var attempts = 1_500

    mutating func shrink(_ sequence: OperationList) -> OperationList {
        var best = sequence
        var size = -1
        while size != best.operations.count && attempts > 0 {
            size = best.operations.count
            leaveOut(&best)
            simplify(&best)
        }
        return best
    }

    private mutating func accept(_ candidate: OperationList, _ best: inout OperationList) -> Bool {
        guard attempts > 0 else { return false }
        attempts -= 1
        guard fails(candidate) else { return false }
        best = candidate
        return true
    }

    private mutating func leaveOut(_ best: inout OperationList) {
        var part = max(1, best.operations.count / 2)
        while true {
            // From the end: later operations matter least to earlier ones.
            var end = best.operations.count
            while end > 0 {
                let start = max(0, end - part)
                var candidate = best
                candidate.operations.removeSubrange(start..<end)
                _ = accept(candidate, &best)
                end = min(start, best.operations.count)
            }
            if part == 1 { return }
            part /= 2
        }
    }

    private mutating func simplify(_ best: inout OperationList) {
        for index in best.operations.indices {
            for operation in Self.simpler(best.operations[index]) {
                var candidate = best
                candidate.operations[index] = operation
                _ = accept(candidate, &best)
            }
        }
        for change in [
            { (one: inout OperationList) in one.isPassthrough = false }, { $0.hasChanges = true },
            { $0.signalsOwn = false },
            { $0.hasTrash = false },
        ] {
            var candidate = best
            change(&candidate)
            if candidate.text != best.text { _ = accept(candidate, &best) }
        }
    }

    private static func simpler(_ operation: Operation) -> [Operation] {
        var all: [Operation] = []
        func with(_ change: (inout Operation) -> Void) {
            var one = operation
            change(&one)
            if one != operation { all.append(one) }
        }
        switch operation.verb {
        case .save, .append, .replace, .backup, .remotePut: with { $0.numbers[1] = 3 }
        case .patch, .setAttribute: with { $0.numbers[2] = 3 }
        case .write: with { $0.numbers[3] = 3 }
        case .run, .wait: with { $0.numbers[1] = 0 }
        case .kill, .settle: with { $0.numbers[0] = 0 }
        default: break
        }
        if operation.verb == .replace || operation.verb == .backup {
            all.append(Operation(.save, operation.paths, operation.numbers))
        }
        // Out of folders.
        with { $0.paths = $0.paths.map { Model.split($0).name } }
        return all
    }
}
