import ControlAPI
import Foundation
import MountHarness
import Testing

/// Rows of the table of conflicts, at a real mount of a directory. All of them, in both orders, are in VolumeTests.
@Suite("The table of conflicts, at a mount")
struct ConflictRowTests {
    /// (What WebDAV does otherwise is in WebDAVProviderTests.)
    private static let rows = ConflictRow.mostImportant.filter { row in
        StoreKind.usual != .webdav || !row.there.contains("moved into a folder")
    }

    @Test(arguments: rows)
    func row(_ row: ConflictRow) async throws {
        try await withMount(.lateUploads) { path in
            for act in row.before {
                if case .read = act { continue }
                try act.run(at: RealFileSystem(root: path))
            }
        } _: { mount in
            let (files, store) = (RealFileSystem(root: mount.mountPoint), RealFileSystem(root: mount.store))
            _ = try files.tree(reading: false)
            for act in row.before { if case .read = act { try act.run(at: files) } }
            for act in row.local { try act.run(at: files) }
            for act in row.remote { try act.run(at: store) }
            func isRight() throws -> Bool {
                // (A folder may go while it is looked at.)
                guard let here = try? files.tree(), let there = try? store.tree() else { return false }
                return here == row.mount && there == row.store ?? row.mount
            }
            try mount.sync()
            try? waitUntil(5, "both sides are right") {
                if try isRight() { return true }
                try mount.sync()
                return false
            }
            #expect(try files.tree() == row.mount, "the mount")
            #expect(try store.tree() == row.store ?? row.mount, "the store")
            let conflicts = try mount.hydrant(["conflicts", "--json", mount.mountPoint])
            let found = try JSONDecoder().decode([ConflictStatus].self, from: Data(conflicts.stdout.utf8))
            // A program that has just closed its document may still seem to have it open when the store changes it.
            let reasons = found.map { $0.reason == "replacedWhileWritten" ? "bothChanged" : $0.reason }
            #expect(reasons == row.conflicts)
        }
    }
}
