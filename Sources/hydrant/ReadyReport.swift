import Foundation

/// Tells the waiting parent, over an inherited pipe, that the mount is up or why it is not.
struct ReadyReport: Sendable {
    private let descriptor: Int32?

    init() {
        descriptor = ProcessInfo.processInfo.environment[MountCommand.readyVariable].flatMap { Int32($0) }
        if let descriptor { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }

    var isAwaited: Bool { descriptor != nil }

    func ready() { send("ready\n") }
    func failed(_ message: String) { send("error \(message)\n") }

    private func send(_ text: String) {
        guard let descriptor else { return }
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        close(descriptor)
    }
}
