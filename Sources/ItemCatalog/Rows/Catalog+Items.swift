package import FileProvider
import Foundation
package import Trees

extension Filename {
    /// As a BLOB for SQLite.
    var data: Data { Data(bytes) }
}

extension Catalog.Reader {
    /// For items that meet a condition; table `item` is `t`.
    static func itemQuery(_ condition: String) -> Query {
        Query("SELECT \(itemColumns) FROM item t WHERE \(condition)")
    }

    func items(_ query: Query, _ bind: (inout Bindings) -> Void) throws -> [ItemRecord] {
        try all(query, bind) { Self.item($0) }
    }

    private static let byNumber = itemQuery("t.id = ?")
    private static let byInode = itemQuery("t.inode = ?")
    private static let byIdentifier = itemQuery("t.identifier = ?")
    private static let byRemoteParent = itemQuery("t.remote_parent = ?")
    private static let byRemotePlace = itemQuery("t.remote_parent = ? AND t.remote_name = ? AND t.id <> ?")

    package func item(_ id: ItemID) throws -> ItemRecord? {
        try first(Self.byNumber) {
            $0.add(id.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func item(of inode: InodeID) throws -> ItemRecord? {
        try first(Self.byInode) {
            $0.add(inode.rawValue)
        } _: {
            Self.item($0)
        }
    }

    package func item(identifiedBy identifier: ItemIdentifier) throws -> ItemRecord? {
        try first(Self.byIdentifier) {
            $0.add(identifier.rawValue)
        } _: {
            Self.item($0)
        }
    }

    /// The items that the provider last reported in this folder.
    package func remoteChildren(of folder: ItemID) throws -> [ItemRecord] {
        try all(Self.byRemoteParent) {
            $0.add(folder.rawValue)
        } _: {
            Self.item($0)
        }
    }

    /// The item, other than `id`, that the provider last reported under this name.
    package func remoteOccupant(of place: TreePlace, otherThan id: ItemID) throws -> ItemRecord? {
        try first(Self.byRemotePlace) { bindings in
            bindings.add(place)
            bindings.add(id.rawValue)
        } _: {
            Self.item($0)
        }
    }
}
