import NIOPosix

/// Off the cooperative pool: the disk may be slow, and GLib's calls block.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await NIOThreadPool.singleton.runIfActive(body)
}
