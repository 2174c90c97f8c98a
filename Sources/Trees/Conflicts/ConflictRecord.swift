package import FileProvider

/// Why two versions were kept.
package enum ConflictReason: String, Sendable, CaseIterable {
    case bothChanged, bothMade, nameTaken, replacedWhileWritten, editedMeanwhile, powerLoss

    /// For people.
    package var text: String {
        switch self {
        case .bothChanged: "the document was changed here and in the store"
        case .bothMade: "an item of this name was created here and in the store"
        case .nameTaken: "one side moved the item to a name that the other side gave to another item"
        case .replacedWhileWritten: "the store replaced the document while a program here was writing it"
        case .editedMeanwhile: "the document was changed while a program here was editing it"
        case .powerLoss: "the machine went off before the local changes were synced: they may be damaged"
        }
    }
}

/// Two versions that were both kept until a person resolves the conflict.
package struct ConflictRecord: Sendable, Equatable {
    package var id: Int64
    /// The item that has the name.
    package var original: ItemID
    /// The conflicted copy, whatever its name is by now.
    package var copy: InodeID
    package var moment: FileTime
    package var reason: ConflictReason

    package init(id: Int64, original: ItemID, copy: InodeID, moment: FileTime, reason: ConflictReason) {
        self.id = id
        self.original = original
        self.copy = copy
        self.moment = moment
        self.reason = reason
    }
}

extension TreeStore {
    /// Records that both versions were kept. Without an original there is nothing for a person to decide.
    func recordConflict(original: ItemID?, copy: InodeID?, _ reason: ConflictReason) throws {
        transaction.concernsStore = true
        guard let original, let copy else { return }
        try insertConflict(original: original, copy: copy, reason)
    }

    /// A program has kept both versions.
    ///
    /// - Throws: ``CatalogError/Code/notPermitted`` when they cannot be versions of each other.
    package func noteConflict(original: InodeID, copy: InodeID) throws {
        let both = [try inode(original), try inode(copy)]
        guard original != copy, both.allSatisfy({ $0.kind == .document || $0.isFolder }),
            let item = try item(of: original)?.id
        else {
            throw CatalogError(.notPermitted, "only documents and packages have versions")
        }
        try recordConflict(original: item, copy: copy, .editedMeanwhile)
    }

    /// The bytes that the delayed deletions wait for will never be in the store: the items to be deleted stay there.
    func takeBackDelayedDeletions(for original: ItemID, defaults: PlaceholderDefaults) throws {
        for id in try delayedDeletions(for: original) {
            try takeBackDeletion(id, current: nil, defaults: defaults)
        }
        try forgetDelayedDeletions(for: original)
    }
}
