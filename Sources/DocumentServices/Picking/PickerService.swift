package import ControlAPI
import FileProvider
import ItemCatalog
import SyncEngine
import Trees
package import Volume
import Waiting

/// Serves document pickers.
package struct PickerService: Sendable {
    private let volume: Volume
    private let paths: DomainPaths
    private let fetches = Fetches()

    package init(volume: Volume, mountPoint: String) {
        self.volume = volume
        paths = DomainPaths(volume, mountPoint: mountPoint)
    }

    /// Downloads a document, together with other requests for it, and reports the progress to this listener.
    ///
    /// - Parameter bring: downloads the document and updates the tally.
    package func fetch(
        _ path: PathBytes, _ listener: ControlListener, download: @escaping @Sendable (Tally) async -> [PathOutcome]
    ) async -> ControlResponse {
        do {
            let inode = try await paths.resolve(path).id
            let fetch = fetches.join(inode) { tally in .outcomes(await download(tally)) }
            return await sendProgress(to: listener, while: fetch) ?? .done
        } catch {
            return .failure(error)
        }
    }

    /// Nil: the client has hung up.
    private func sendProgress(to listener: ControlListener, while fetch: Fetches.Fetch) async -> ControlResponse? {
        let first = FirstAnswer<ControlResponse?>()
        Task { first.resume(await fetch.task.value) }
        let sending = Task {
            while (try? await Task.sleep(for: .milliseconds(100))) != nil {
                let now = fetch.tally.progress(volume.engine.transfers.now(), paths.running)
                if (try? await listener.send(.progress(now))) == nil { break }
            }
            first.resume(nil)
        }
        defer { sending.cancel() }
        return await first.wait(otherwise: nil)
    }

    package func cancelFetch(_ path: PathBytes) async throws {
        _ = fetches.cancel(try await paths.resolve(path).id)
    }

    package func endAll() { fetches.endAll() }

    /// Finds an item that a provider's own program may just have created in the store: lists its folder again before
    /// the item counts as missing.
    package func locate(_ path: PathBytes) async throws {
        var missing: Int?
        while true {
            do {
                _ = try await paths.resolve(path)
                return
            } catch {
                // List the deepest known folder of the path again; then a deeper one may be known.
                var above = path.names.dropLast()
                while !above.isEmpty, (try? await resolve(above)) == nil { above = above.dropLast() }
                guard missing != above.count, let folder = try? await resolve(above), folder.isFolder else {
                    throw error
                }
                missing = above.count
                do { try await volume.engine.enumerate(folder.id) } catch {
                    throw ControlFailure(code: "path", message: "\(paths.shown(path)): \(error)")
                }
            }
        }
    }

    private func resolve(_ names: ArraySlice<Filename>) async throws -> InodeRecord {
        try await volume.resolve(Array(names))
    }
}
