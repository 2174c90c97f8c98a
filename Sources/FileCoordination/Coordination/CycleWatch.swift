import ControlAPI
import Coordination

/// Finds deadlocks across domains, of which each daemon sees only its part.
struct CycleWatch: Sendable {
    let id: ClaimID

    /// Returns true when the claim is in a deadlock, and is the one that must give way; false when the task is
    /// cancelled.
    func findsCycle() async -> Bool {
        var before: [ClaimID]?
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let found = await cycle()
            // A cycle counts when it is seen twice, because the daemons are not asked at the same moment.
            if let found, found == before { return true }
            before = found
        }
        return false
    }

    private func cycle() async -> [ClaimID]? {
        var graph = WaitGraph()
        var nested: Set<ClaimID> = []
        for mount in MountTable.ownDomains() {
            guard let client = FileCoordinator.client(of: mount.mountPoint),
                case .claims(let claims) = try? await client.send(.claims, timeout: 5)
            else { continue }
            for claim in claims {
                graph.edges[ClaimID(claim.id), default: []].formUnion(claim.waitsFor.map { ClaimID($0) })
                guard !claim.isGranted else { continue }
                if !claim.within.isEmpty { nested.insert(ClaimID(claim.id)) }
                for outer in claim.within { graph.edges[ClaimID(outer), default: []].insert(ClaimID(claim.id)) }
            }
        }
        guard let cycle = graph.cycle(through: id) else { return nil }
        // Of all claims that find the cycle, one gives way.
        return cycle.filter(nested.contains).max() == id ? cycle : nil
    }
}
