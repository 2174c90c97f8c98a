internal import CFUSE
internal import Glibc
internal import Synchronization

/// Registers files for passthrough on one connection: directly with CAP_SYS_ADMIN, else through `PassthroughHelper`,
/// where that is installed.
final class Passthrough: Sendable {
    private enum Way {
        /// The kernel offers passthrough; whether this process may use it is not known yet.
        case unknown(device: Int32)
        case direct(device: Int32)
        case helper(PassthroughHelper)
        case none
    }

    private let helperPath: String?
    private let way = Mutex(Way.none)
    /// As in `way`, without its lock.
    private let available = Atomic(false)
    private let isDistant = Atomic(false)

    init(helper: String?) { helperPath = helper }

    var needsHelper: Bool { isDistant.load(ordering: .relaxed) }
    var isAvailable: Bool { available.load(ordering: .relaxed) }

    /// The kernel offers passthrough. Called before any open.
    func isOffered(on device: Int32) {
        way.withLock { $0 = .unknown(device: device) }
        available.store(true, ordering: .relaxed)
    }

    /// Finds out whether this process may; called after our reply to INIT.
    func prepare() { _ = current() }

    private func current() -> Way {
        way.withLock { way in
            guard case .unknown(let device) = way else { return way }
            way = found(device)
            if case .none = way { available.store(false, ordering: .relaxed) }
            return way
        }
    }

    private func found(_ device: Int32) -> Way {
        switch hydrant_backing_probe(device) {
        case -EPERM:
            guard let helperPath, let helper = PassthroughHelper(program: helperPath, device: device) else {
                return .none
            }
            isDistant.store(true, ordering: .relaxed)
            return .helper(helper)
        default: return .direct(device: device)
        }
    }

    /// The backing id, or -errno.
    func open(_ fileDescriptor: Int32) -> Int32 {
        let result: Int32
        switch current() {
        case .direct(let device): result = hydrant_backing_open(device, fileDescriptor)
        case .helper(let helper): result = helper.open(fileDescriptor)
        case .none, .unknown: return -EOPNOTSUPP
        }
        if result == -EPERM || result == -EPIPE { end() }
        return result == 0 ? -EINVAL : result
    }

    func close(_ id: Int32) {
        switch current() {
        case .direct(let device): _ = hydrant_backing_close(device, id)
        case .helper(let helper): helper.close(id)
        case .none, .unknown: break
        }
    }

    /// Ends all registration.
    func end() {
        let last = way.withLock { way in
            defer { way = .none }
            return way
        }
        available.store(false, ordering: .relaxed)
        if case .helper(let helper) = last { helper.end() }
    }
}
