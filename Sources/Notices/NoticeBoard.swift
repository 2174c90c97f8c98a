/// Which notices people see, from what the domains need: at most one of a kind for each domain, shown when its
/// causes have lasted,
/// changed in place, closed when the last cause is gone.
///
/// A value without clocks: whoever has it says what time it is, as seconds since any beginning.
package struct NoticeBoard: Sendable {
    package enum Effect: Sendable, Equatable {
        /// Show, or change in place.
        case show(NoticeKey, [Cause])
        case close(NoticeKey)
    }

    private struct Entry {
        var causes: [Cause]
        /// Nil: nothing is on the screen.
        var shown: [Cause]?
        var due: Duration?
        /// What a person has put away, and need not see again.
        var putAway: Set<String> = []
    }
    private var entries: [NoticeKey: Entry] = [:]

    package init() {}

    /// Takes over the state of a domain.
    package mutating func update(_ mountPoint: String, _ causes: Causes, at now: Duration) -> [Effect] {
        NoticeKind.allCases.flatMap { update(NoticeKey($0, mountPoint), causes[$0], at: now) } + tick(at: now)
    }

    private mutating func update(_ key: NoticeKey, _ causes: [Cause], at now: Duration) -> [Effect] {
        guard var entry = entries[key] else {
            if !causes.isEmpty { entries[key] = Entry(causes: causes, due: now + key.kind.patience) }
            return []
        }
        if causes.isEmpty {
            entries[key] = nil
            return entry.shown == nil ? [] : [.close(key)]
        }
        guard causes != entry.causes else { return [] }
        let known = entry.putAway.union((entry.shown ?? []).map(\.subject))
        entry.causes = causes
        // (What was put away, and is gone, is news when it comes again.)
        entry.putAway.formIntersection(causes.map(\.subject))
        if causes.contains(where: { !known.contains($0.subject) }) {
            entry.due = entry.due ?? now + key.kind.patience
        } else if entry.shown != nil {
            entry.due = entry.due ?? now
        }
        entries[key] = entry
        return []
    }

    /// What has lasted long enough by now.
    package mutating func tick(at now: Duration) -> [Effect] {
        var effects: [Effect] = []
        for (key, entry) in entries.sorted(by: {
            ($0.key.mountPoint, $0.key.kind.rawValue) < ($1.key.mountPoint, $1.key.kind.rawValue)
        }) {
            guard let due = entry.due, due <= now else { continue }
            entries[key]?.due = nil
            entries[key]?.shown = entry.causes
            entries[key]?.putAway = []
            effects.append(.show(key, entry.causes))
        }
        return effects
    }

    /// When to call ``tick(at:)`` next; nil: nothing waits.
    package var nextDue: Duration? { entries.values.compactMap(\.due).min() }

    /// A person has put a notice away. It comes back with something new only.
    package mutating func putAway(_ key: NoticeKey) {
        guard let shown = entries[key]?.shown else { return }
        entries[key]?.putAway.formUnion(shown.map(\.subject))
        entries[key]?.shown = nil
    }

    /// Shows all of a domain's notices again, also those that were put away.
    package mutating func showAgain(_ mountPoint: String) -> [Effect] {
        entries.keys.filter { $0.mountPoint == mountPoint && $0.kind != .download }
            .sorted { $0.kind.rawValue < $1.kind.rawValue }.map { key in
                let causes = causes(of: key)
                entries[key] = Entry(causes: causes, shown: causes)
                return .show(key, causes)
            }
    }

    /// The causes now; empty: there are none.
    package func causes(of key: NoticeKey) -> [Cause] { entries[key]?.causes ?? [] }

    /// What is on the screen.
    package var shown: [NoticeKey: [Cause]] { entries.compactMapValues(\.shown) }

    /// How many things of a domain need a person.
    package func needs(_ mountPoint: String) -> Int {
        entries.filter { $0.key.mountPoint == mountPoint && $0.key.kind != .download }.map(\.value.causes.count)
            .reduce(0, +)
    }
}
