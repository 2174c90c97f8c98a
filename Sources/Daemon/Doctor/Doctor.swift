import ContentStore
import FileProvider
import Foundation
import ItemCatalog
package import Logging
import SyncEngine
import Trees

/// Cross-checks a domain's catalog, content store and store.
///
/// Takes the lock where no daemon has the state directory. Where a daemon has it, reads the catalog as committed at one
/// moment and the files as they are, and examines twice to rule out what only changed meanwhile.
package struct Doctor {
    private let path: String
    private let registry: ProviderRegistry
    /// Nil: a daemon has the state directory.
    private let state: StateDirectory?

    package struct Report: Sendable {
        /// Losses first.
        package var problems: [DoctorProblem] = []
        /// A daemon was running meanwhile.
        package var wasInUse = false
    }

    /// - Parameter repairs: whether to repair; then no daemon may have the state directory.
    package init(stateDirectory: String, registry: ProviderRegistry, repairs: Bool) throws(DaemonError) {
        path = stateDirectory
        self.registry = registry
        do throws(DaemonError) {
            state = try StateDirectory(existing: stateDirectory)
        } catch {
            guard error.isInUse, !repairs else { throw error }
            state = nil
        }
    }

    private var catalogPath: String { path + "/catalog.sqlite" }
    private var inventory: ContentInventory { ContentInventory(directory: path + "/content") }

    /// - Parameter asksStore: whether to ask the store for every item that it has confirmed.
    package func examine(asksStore: Bool, logger: Logger) async throws(DaemonError) -> Report {
        do {
            guard state == nil else {
                return Report(problems: sorted(try await examineCopy(asksStore: asksStore, logger)))
            }
            let first = try await examineCopy(asksStore: asksStore, logger)
            if first.isEmpty { return Report(wasInUse: true) }
            try await Task.sleep(for: .milliseconds(500))
            let second = try await examineCopy(asksStore: asksStore, logger)
            return Report(problems: sorted(first.filter(second.contains)), wasInUse: true)
        } catch {
            throw DaemonError("\(error)")
        }
    }

    /// Works on a copy of the catalog, so that it changes nothing.
    private func examineCopy(asksStore: Bool, _ logger: Logger) async throws -> [DoctorProblem] {
        let folder = try TemporaryFolder()
        let catalog: Catalog
        do {
            catalog = try Catalog.copy(of: catalogPath, to: folder.path, isInUse: state == nil)
        } catch {
            guard error.code == .damaged || error.code == .notFound else { throw error }
            return [unreadable(error)]
        }
        defer { catalog.close() }
        return try await examine(catalog, asksStore: asksStore, logger)
    }

    private func examine(_ catalog: Catalog, asksStore: Bool, _ logger: Logger) async throws -> [DoctorProblem] {
        var problems = try catalog.read { try $0.examine() }.map { DoctorProblem($0) }
        problems += try ContentExamination(catalog: catalog, inventory: inventory).run()
        let domain = try catalog.read { try $0.domain() }
        if let danger = domain.flatMap({ domain in registration(of: domain)?.danger(of: domain) }) {
            problems.append(danger)
        }
        if asksStore, let domain {
            let client = StoreClient(
                try await provider(of: domain), events: EventLog(), workers: Workers(threads: 2), logger: logger)
            problems += try await StoreExamination(catalog: catalog, client: client).run()
            await client.invalidate()
        }
        return problems
    }

    private func registration(of domain: String) -> ProviderRegistration? {
        (try? StoreLocation.split(domain)).flatMap { registry[$0.scheme] }
    }

    /// - Parameter domain: the location as the catalog has it, without passwords.
    private func provider(of domain: String) async throws(DaemonError) -> any FileProviderExtension {
        let (scheme, _) = try StoreLocation.split(domain)
        guard let registration = registration(of: domain) else {
            throw DaemonError(
                "\(domain): only its daemon (hydrant-provider-\(scheme)) can ask this store; run doctor without --store "
                    + "to check everything else")
        }
        return try await registration.provider(
            for: StoreLocation(domain, kind: registration.kind, workingDirectory: "/"))
    }

    private func unreadable(_ error: CatalogError) -> DoctorProblem {
        let count = inventory.entries().filter { inventory.label(of: $0.path) != nil }.count
        return DoctorProblem(
            isLoss: false, place: catalogPath, what: error.code == .notFound ? "is missing" : "is damaged",
            meaning:
                "\(count) files here hold changes that the store may not have; hydrant rescue \(path) TARGET copies them out"
        )
    }

    private func sorted(_ problems: [DoctorProblem]) -> [DoctorProblem] {
        problems.filter(\.isLoss) + problems.filter { !$0.isLoss }
    }

    // MARK: Repair

    /// Repairs what can be repaired, in the catalog itself. Deletes nothing but copies.
    package func repair(asksStore: Bool, logger: Logger) async throws(DaemonError) -> Report {
        guard state != nil else { throw DaemonError("\(path): in use by a daemon; unmount first") }
        do {
            let catalog: Catalog
            do {
                catalog = try Catalog(existing: catalogPath)
            } catch {
                guard error.code == .damaged || error.code == .notFound else { throw error }
                return Report(problems: [unreadable(error)])
            }
            defer { catalog.close() }
            var problems = sorted(try await examine(catalog, asksStore: asksStore, logger))
            for index in problems.indices {
                guard let repair = problems[index].repair else { continue }
                do {
                    try apply(repair, catalog)
                    problems[index].outcome = .done
                } catch {
                    problems[index].outcome = .failed("\(error)")
                }
            }
            // New listings restore lost names and items without an inode.
            if !problems.isEmpty { try catalog.write { try $0.forgetListings() } }
            return Report(problems: problems)
        } catch {
            throw DaemonError("\(error)")
        }
    }

    private func apply(_ repair: DoctorProblem.Repair, _ catalog: Catalog) throws {
        switch repair {
        case .catalog(let repair): try catalog.write { try $0.repair(repair) }
        case .evict(let inode, let path):
            if let path { _ = try inventory.putAside(path) }
            _ = try catalog.write { try $0.evict(inode) }
        case .putAside(let path): _ = try inventory.putAside(path)
        case .relistFolder(let item): try catalog.write { try $0.forgetListing(of: item) }
        }
    }
}
