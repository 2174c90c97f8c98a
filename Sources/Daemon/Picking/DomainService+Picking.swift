import ControlAPI
import FileProvider
import ItemCatalog
import SyncEngine
import Trees
import Volume
import Waiting

/// What document pickers ask for.
extension DomainService {
    /// Brings a document for whoever wants it by then, and tells this one how far it is.
    func fetch(_ path: PathBytes, _ listener: ControlListener) async -> ControlResponse {
        do {
            let inode = try await resolve(path).id
            let fetch = fetches.join(inode) { tally in .outcomes(await bring([path], tally)) }
            let last = await tell(listener, while: fetch)
            return last ?? .done
        } catch {
            return .failure(
                error as? ControlFailure ?? ControlFailure(code: ControlFailure.internalError, message: "\(error)"))
        }
    }

    /// Nil: nobody listens any more.
    private func tell(_ listener: ControlListener, while fetch: Fetches.Fetch) async -> ControlResponse? {
        let first = FirstAnswer<ControlResponse?>()
        Task { first.resume(await fetch.task.value) }
        let telling = Task {
            while (try? await Task.sleep(for: .milliseconds(100))) != nil {
                let now = fetch.tally.progress(volume.engine.context.transfers.now(), running)
                if (try? await listener.tell(.progress(now))) == nil { break }
            }
            first.resume(nil)
        }
        defer { telling.cancel() }
        return await first.wait(otherwise: nil)
    }

    func cancelFetch(_ path: PathBytes) async throws -> ControlResponse {
        _ = fetches.cancel(try await resolve(path).id)
        return .done
    }

    /// An item that a provider's own program may just have made in the store: its folder is listed anew before it counts as
    /// missing.
    func locate(_ path: PathBytes) async throws -> ControlResponse {
        var missing: Int?
        while true {
            do {
                _ = try await resolve(path)
                break
            } catch {
                // The deepest folder of it that is known is listed anew; then there may be one more.
                var above = PathBytes(bytes: parent(of: path))
                while !above.bytes.isEmpty {
                    if (try? await resolve(above)) != nil { break }
                    above = PathBytes(bytes: parent(of: above))
                }
                guard missing != above.bytes.count, let folder = try? await resolve(above), folder.isFolder else {
                    throw error
                }
                missing = above.bytes.count
                do { try await volume.engine.enumerate(folder.id) } catch {
                    throw ControlFailure(code: "path", message: "\(mountPoint)/\(path): \(error)")
                }
            }
        }
        return await respond(to: .status(paths: [path]))
    }

    private func parent(of path: PathBytes) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        return Array(path.bytes.split(separator: slash).dropLast().joined(separator: [slash]))
    }
}
