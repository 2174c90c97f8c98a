import FileProvider

/// Creations whose reply was lost: a daemon was killed, or a network failed, after the store was asked to create an
/// item. While the item is still at its place here, asking again finds it. An item that has been moved or deleted since
/// must be looked for first; otherwise it would come back as a new item of the store.
extension TreeReading {
    /// An item that the store may have created at this place, and that is not there on this machine any more.
    func lostCreation(at place: TreePlace) throws -> ItemRecord? {
        try attempts(at: place).first { $0.isLost }
    }

    /// Whether the store may have created an item in this folder that is not there on this machine any more.
    func lostCreations(in folder: ItemID) throws -> Bool {
        try attempts(in: folder).contains { $0.isLost }
    }
}

extension TreeStore {
    /// Records that the store is about to be asked to create the item at `place`. False: the item is elsewhere by now.
    package func recordAttempt(_ id: ItemID, at place: TreePlace) throws -> Bool {
        guard var row = try item(id), row.identifier == nil, row.local == place else { return false }
        if row.attempted == place { return true }
        row.attempted = place
        try update(row)
        return true
    }

    /// The store did not create the item at `place`.
    package func forgetAttempt(_ id: ItemID, at place: TreePlace, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), row.attempted == place else { return }
        row.attempted = nil
        try judge(&row, settle: 0)
        try update(row)
        freedPlaces.append(place)
        try showWaiting(defaults)
    }

    /// A creation from here whose result `row` may be: `row` is not shown before that is known.
    func lostCreation(like row: ItemRecord) throws -> ItemRecord? {
        guard let place = row.remote, let lost = try lostCreation(at: place), lost.id != row.id else { return nil }
        switch (lost.kind, row.kind) {
        case (.document, .document): return lost.sent.contains { $0.size == row.remoteFacts.size } ? lost : nil
        case (.folder, .folder): return lost
        case (.symbolicLink(let mine), .symbolicLink(let theirs)): return mine == theirs ? lost : nil
        default: return nil
        }
    }

    func becomesReady(_ item: ItemRecord) throws {
        var item = item
        item.becomesReady(at: now)
        try update(item)
    }
}
