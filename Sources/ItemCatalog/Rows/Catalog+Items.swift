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

    /// SQL: whether the provider reported item `t` in this folder last.
    ///
    /// - Parameter parent: an expression.
    static func isRemote(in parent: String) -> String {
        "(t.own_remote_parent = \(parent) OR (t.local_parent = \(parent) AND t.alike & 2))"
    }

    /// SQL: the same under this name. (An item whose place is also its local place has it as a name of its inode.)
    static func isRemote(in parent: String, as name: String) -> String {
        "((t.own_remote_parent = \(parent) AND t.own_remote_name = \(name)) OR (\(isLocal(in: parent, as: name)) AND t.alike & 2))"
    }

    /// SQL: whether item `t` is in this folder under this name here.
    static func isLocal(in parent: String, as name: String) -> String {
        """
        t.inode = (SELECT n.inode FROM item p JOIN name n ON n.folder = p.inode WHERE p.id = \(parent) AND n.name = \(name))
        AND t.local_parent = \(parent) AND t.local_name = \(name)
        """
    }

    func items(_ query: Query, _ bind: (inout Bindings) -> Void) throws -> [ItemRecord] {
        try all(query, bind) { Self.item($0) }
    }

    private static let byNumber = itemQuery("t.id = ?")
    private static let byInode = itemQuery("t.inode = ?")
    private static let byIdentifier = itemQuery("t.identifier = ?")
    private static let byRemoteParent = itemQuery(isRemote(in: "?1"))
    private static let byRemotePlace = itemQuery("\(isRemote(in: "?1", as: "?2")) AND t.id <> ?3 ORDER BY t.id")

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
