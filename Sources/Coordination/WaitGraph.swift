/// Which claims wait for which.
package struct WaitGraph: Sendable {
    package var edges: [ClaimID: Set<ClaimID>]

    package init(_ edges: [ClaimID: Set<ClaimID>] = [:]) { self.edges = edges }

    package mutating func merge(_ other: WaitGraph) { edges.merge(other.edges) { $0.union($1) } }

    /// A cycle through a claim, listed from it once; nil: none.
    package func cycle(through start: ClaimID) -> [ClaimID]? {
        var cameFrom: [ClaimID: ClaimID] = [:]
        var open = [start]
        while let current = open.popLast() {
            for next in (edges[current] ?? []).sorted() {
                if next == start {
                    var way = [current]
                    while let last = way.last, last != start { way.append(cameFrom[last]!) }
                    return way.reversed()
                }
                if cameFrom[next] == nil {
                    cameFrom[next] = current
                    open.append(next)
                }
            }
        }
        return nil
    }
}
