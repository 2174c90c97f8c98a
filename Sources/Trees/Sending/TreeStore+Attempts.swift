import FileProvider

/// Creations whose reply was lost: a daemon was killed, or a network failed, when the store had been asked to make
/// something. While that is still in its place here, asking again finds it there. What has been moved or deleted since
/// is looked for first, or it would come back as something new of the store's.
extension TreeReading {
    /// What may have been made at this place of the store, and is not there here any more.
    func lostCreation(at place: TreePlace) throws -> ItemRecord? {
        try attempts(at: place).first { $0.isLost }
    }

    /// Whether something may have been made in this folder of the store, and is not there here any more.
    func lostCreations(in folder: ItemID) throws -> Bool {
        try attempts(in: folder).contains { $0.isLost }
    }
}

extension TreeStore {
    /// The store is about to be asked to make it there. False: it is somewhere else by now.
    package func recordAttempt(_ id: ItemID, at place: TreePlace) throws -> Bool {
        guard var row = try item(id), row.identifier == nil, row.local == place else { return false }
        if row.attempted == place { return true }
        row.attempted = place
        try update(row)
        return true
    }

    /// The store did not make it there.
    package func forgetAttempt(_ id: ItemID, at place: TreePlace, defaults: PlaceholderDefaults) throws {
        guard var row = try item(id), row.attempted == place else { return }
        row.attempted = nil
        try judge(&row, settle: 0)
        try update(row)
        freedPlaces.append(place)
        try showWaiting(defaults)
    }

    /// What the store has told of may be what was made from here: it is not shown before that is known.
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
