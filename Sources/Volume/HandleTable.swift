import Locking

/// The open files and folders of programs.
final class HandleTable: Sendable {
    struct Handle: Sendable {
        var node: Node
        var isWritable: Bool
        var isFolder = false
    }
    private struct State {
        var handles: [HandleID: Handle] = [:]
        var next: UInt64 = 1
    }
    private let state = AdaptiveMutex(State())

    func add(_ handle: Handle) -> HandleID {
        state.withLock { state in
            let id = HandleID(rawValue: state.next)
            state.next += 1
            state.handles[id] = handle
            return id
        }
    }

    subscript(id: HandleID) -> Handle? { state.withLock { $0.handles[id] } }

    func remove(_ id: HandleID) -> Handle? { state.withLock { $0.handles.removeValue(forKey: id) } }
}
