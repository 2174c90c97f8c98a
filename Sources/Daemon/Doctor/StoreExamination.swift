import FileProvider
import Foundation
import ItemCatalog
import Logging
import SyncEngine
import Trees

/// Asks the store for every item that it has confirmed.
struct StoreExamination {
    let catalog: Catalog
    let client: StoreClient
    /// The number of requests at a time.
    private static let breadth = 8

    /// Ends early, with a problem that says so, if the store does not answer.
    func run() async throws -> [DoctorProblem] {
        let items = try catalog.read { try $0.confirmedItems() }
        var problems: [DoctorProblem] = []
        var next = 0
        await withTaskGroup(of: Answer.self) { group in
            func ask() {
                guard next < items.count else { return }
                let item = items[next]
                next += 1
                group.addTask { await compare(item) }
            }
            for _ in 0..<Self.breadth { ask() }
            for await answer in group {
                switch answer {
                case .same: break
                case .different(let problem): problems.append(problem)
                case .unreachable(let why):
                    next = items.count
                    let problem = DoctorProblem(
                        place: "the store", what: why, meaning: "not all items could be compared with it")
                    if !problems.contains(problem) { problems.append(problem) }
                }
                ask()
            }
        }
        return problems
    }

    private enum Answer: Sendable {
        case same
        case different(DoctorProblem)
        case unreachable(String)
    }

    private func compare(_ item: ItemRecord) async -> Answer {
        guard let identifier = item.identifier else { return .same }
        do {
            let found = try await client.quietPlaceholder(for: identifier)
            if found.version.content != item.remoteVersion?.content, item.kind.isDocument {
                return .different(problem(item, "the store has another version of it", "the next listing updates it"))
            }
            let parent = try catalog.read { reader in try item.remote.flatMap { try reader.item($0.parent)?.identifier }
            }
            guard found.parentIdentifier == parent, found.filename == item.remote?.name else {
                return .different(
                    problem(
                        item, "in the store it is elsewhere, as “\(found.filename)” in \(found.parentIdentifier)",
                        "the next listing moves it"))
            }
            return .same
        } catch let error as FileProviderError {
            switch error.code {
            case .noSuchItem:
                let meaning =
                    item.heldSince == nil
                    ? "the next listing removes it" : "it stays here until hydrant resolve --keep mine|theirs"
                return .different(problem(item, "the store no longer has it", meaning))
            case .serverUnreachable, .notAuthenticated: return .unreachable(error.message)
            default:
                return .different(problem(item, "the store cannot show it: \(error.message)", "it may be unreadable"))
            }
        } catch {
            return .unreachable("\(error)")
        }
    }

    private func problem(_ item: ItemRecord, _ what: String, _ meaning: String) -> DoctorProblem {
        let shown = item.inode.flatMap { inode in try? catalog.read { try $0.shown(inode) } }
        return DoctorProblem(
            place: shown ?? "item \(item.id.rawValue)", what: what,
            meaning: item.isModified ? "it is changed here as well: the upload keeps both" : meaning,
            repair: .relistFolder(item.id))
    }
}
