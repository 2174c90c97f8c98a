/// Which contents must not be missing at the end, and which the store may hold.
///
/// Every content is like no other (``Contents``), so that what became of it can be told wherever it is. A content is
/// owed from the moment somebody has closed it here, or committed it at the store, until somebody who had it before him
/// writes over it or deletes it. Whoever did not see it cannot take it away.
struct Ledger {
    /// With who wrote them.
    private(set) var owed: [[UInt8]: String] = [:]
    /// What a program here took away, and nobody at the store has touched since: it must not come back.
    private(set) var gone: [[UInt8]: String] = [:]
    /// What the other client had to do with since both sides were the same.
    private var touched: Set<[UInt8]> = []
    /// What was a whole document once: nothing else may ever be in the store.
    private(set) var wholes: Set<[UInt8]> = [[]]

    /// A change here, by what the documents held before and after.
    mutating func changedHere(_ before: Set<[UInt8]>, _ after: Set<[UInt8]>, saved: Set<[UInt8]>, _ who: String) {
        for content in before.subtracting(after) {
            owed[content] = nil
            if !touched.contains(content) { gone[content] = who }
        }
        for content in after { gone[content] = nil }
        wholes.formUnion(saved)
        for content in saved.subtracting(before) where after.contains(content) { owe(content, who) }
    }

    /// Somebody has closed it here whose document the other client has meanwhile taken away.
    mutating func owe(_ content: [UInt8], _ who: String) {
        wholes.insert(content)
        if !content.isEmpty { owed[content] = owed[content] ?? who }
    }

    mutating func whole(_ content: [UInt8]) { wholes.insert(content) }

    mutating func saved(_ contents: Set<[UInt8]>, _ who: String) {
        wholes.formUnion(contents)
        for content in contents { owe(content, who) }
    }

    /// A change by the store's other client.
    ///
    /// - Parameter touched: what the documents held that it had to do with, before and after.
    mutating func changedThere(
        _ before: Set<[UInt8]>, _ after: Set<[UInt8]>, touched: Set<[UInt8]>, _ who: String
    ) {
        self.touched.formUnion(touched)
        for content in touched { gone[content] = nil }
        for content in before.subtracting(after) { owed[content] = nil }
        wholes.formUnion(after)
        for content in after.subtracting(before) { owe(content, who) }
    }

    /// Of what can never be whole again only what is here is owed, and that is there.
    mutating func forgive(_ torn: [UInt8?]) {
        owed = owed.filter { content, _ in
            content.count != torn.count || zip(content, torn).contains { $1 != nil && $0 != $1 }
        }
    }

    /// The same, where only its size can be seen.
    mutating func forgive(size: Int) { owed = owed.filter { $0.key.count != size } }

    /// Somebody may have seen it just before he wrote over it.
    mutating func forgive(_ content: [UInt8]) { owed[content] = nil }

    /// Both sides are the same now, with these contents.
    mutating func agreed() {
        touched = []
        gone = [:]
    }
}
