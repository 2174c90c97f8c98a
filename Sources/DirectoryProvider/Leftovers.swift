import FileProvider
import Glibc
import Logging
import Surroundings

/// Leftovers of a crash in the store.
extension Store {
    /// Removes forgotten drafts from `folder`, and gives files that were set aside and never put back a visible name:
    /// such a file may be the only copy of a document. Best effort, run wherever names are listed anyway.
    func sweep(_ folder: Folder, _ names: [[UInt8]]) {
        for name in names {
            guard let kind = TemporaryName.kind(of: name) else { continue }
            switch kind {
            case .draft: Draft.sweep(name, in: folder)
            case .aside:
                guard isLeftover(name, in: folder) else { continue }
                _ = try? keep(name, in: folder, besides: Array("recovered".utf8), reason: "left by a crash")
            }
        }
    }

    /// By the change time: the modification time is the document's, perhaps years ago.
    private func isLeftover(_ name: [UInt8], in folder: Folder) -> Bool {
        guard let status = try? folder.status(of: name), status.kind != .folder else { return false }
        return Self.isOld(status.changed, at: Int64(time(nil)), seams.leftoverAge)
    }

    /// Dates may have any value, also one that no clock shows.
    static func isOld(_ changed: Timestamp, at now: Int64, _ age: Int64) -> Bool {
        now.clampedSubtracting(changed.seconds) > age
    }

    /// Gives a file set aside a visible name.
    @discardableResult
    func keep(
        _ aside: [UInt8], in folder: Folder, besides name: [UInt8], reason: String
    ) throws(FileProviderError) -> [UInt8] {
        for attempt in 0..<100 {
            let visible = ConflictName.make(from: name, at: time(nil), number: attempt + 1)
            do throws(FileProviderError) {
                try renameWithoutReplacing(aside, in: folder, to: folder, as: visible)
            } catch {
                if error.code == .filenameCollision { continue }
                throw error
            }
            logger.warning(
                "kept a second version: \(reason)",
                metadata: [
                    "document": "\(folder.path(of: name))", "keptAs": "\(folder.path(of: visible))",
                ])
            return visible
        }
        throw FileProviderError(.filenameCollision, "\(folder.path(of: name)): too many conflicted copies")
    }
}
