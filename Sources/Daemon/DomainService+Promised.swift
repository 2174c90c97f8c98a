import ControlAPI
import DocumentServices
import ItemCatalog
import Trees

/// States of items that need not be downloaded.
extension DomainService {
    func promised(_ paths: [PathBytes], wantsTags: Bool, thumbnail size: Int?) async -> [PromisedItem] {
        var all: [PromisedItem] = []
        // (A response has a limited size; clients ask again for the missing pictures.)
        var room = ControlLimits.responseBytes / 2
        for path in paths {
            do {
                var promised = PromisedItem(
                    item: try queries.item(try await domainPaths.resolve(path), at: path, wantsTags: wantsTags))
                if promised.item == nil {
                    promised.error =
                        path.bytes.isEmpty ? "\(mountPoint): a whole domain, not an item" : "\(path.string): is gone"
                }
                if let size, promised.item?.kind == .document, room > 0 {
                    promised.thumbnail = try? await self.thumbnail(of: path, size: size, makes: false)
                    room -= (promised.thumbnail?.picture.count ?? 0) * 4 / 3
                }
                all.append(promised)
            } catch let failure as ControlFailure {
                all.append(PromisedItem(error: failure.message))
            } catch {
                all.append(PromisedItem(error: "\(error)"))
            }
        }
        return all
    }
}
