/// The contents that must not be missing at the end, and those that the store may have.
///
/// All contents are unique (``Contents``), so they can be traced anywhere. A content is owed from the moment a program
/// has closed it here, or a client has committed it to the store, until a program or client that had seen it overwrites
/// or deletes it. One that did not see it cannot take it away.
struct Ledger {
    /// With the operation that wrote each.
    private(set) var owed: [[UInt8]: String] = [:]
    /// Contents that a program here removed, and that no client of the store has touched since: they must not come
    /// back.
    private(set) var gone: [[UInt8]: String] = [:]
    /// Contents that the other client used since both sides last agreed.
    private var touched: Set<[UInt8]> = []
    /// All contents that were once a whole document: nothing else may ever be in the store.
    private(set) var wholes: Set<[UInt8]> = [[]]

    /// A change here, with the documents' contents before and after.
    mutating func changedHere(_ before: Set<[UInt8]>, _ after: Set<[UInt8]>, saved: Set<[UInt8]>, _ who: String) {
        for content in before.subtracting(after) {
            owed[content] = nil
            if !touched.contains(content) { gone[content] = who }
        }
        for content in after { gone[content] = nil }
        wholes.formUnion(saved)
        for content in saved.subtracting(before) where after.contains(content) { owe(content, who) }
    }

    /// A program has closed this content here although the other client has removed its document meanwhile.
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
    /// - Parameter touched: the contents of the documents that it used, before and after.
    mutating func changedThere(
        _ before: Set<[UInt8]>, _ after: Set<[UInt8]>, touched: Set<[UInt8]>, _ who: String
    ) {
        self.touched.formUnion(touched)
        for content in touched { gone[content] = nil }
        for content in before.subtracting(after) { owed[content] = nil }
        wholes.formUnion(after)
        for content in after.subtracting(before) { owe(content, who) }
    }

    /// For a document that can never be whole again, only the bytes here are owed, and they are there.
    mutating func forgive(_ torn: [UInt8?]) {
        owed = owed.filter { content, _ in
            content.count != torn.count || zip(content, torn).contains { $1 != nil && $0 != $1 }
        }
    }

    /// The same, where only the size is visible.
    mutating func forgive(size: Int) { owed = owed.filter { $0.key.count != size } }

    /// A program may have seen the content just before it overwrote it.
    mutating func forgive(_ content: [UInt8]) { owed[content] = nil }

    /// Both sides agree, with these contents.
    mutating func agreed() {
        touched = []
        gone = [:]
    }
}
