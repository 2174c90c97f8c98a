import Foundation

/// Passes the configuration to a daemon as JSON over an inherited descriptor. Every user of the machine can read
/// arguments, and the daemon's children would inherit environment variables.
package enum DaemonHandover {
    /// Contains the number of the descriptor to read from. A process with this variable was started as a daemon.
    private static let variable = "HYDRANT_CONFIGURATION_FD"
    /// The largest pipe that a user other than root can create (pipe(7)).
    private static let most = 1 << 20

    /// Writes the configuration to a pipe. A daemon inherits the returned descriptor, whose number is in the
    /// environment.
    package static func offer(_ configuration: DaemonConfiguration) throws(DaemonError) -> Int32 {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw DaemonError("cannot make a pipe: \(String(cString: strerror(errno)))") }
        defer { close(ends[1]) }
        guard let data = try? JSONEncoder().encode(configuration) else {
            close(ends[0])
            throw DaemonError("\(StoreLocation.shown(configuration.store)): an option is not UTF-8")
        }
        // The pipe must hold the whole configuration: nobody reads yet.
        let setSize: Int32 = 1_031  // F_SETPIPE_SZ
        if data.count > 65_536 { _ = fcntl(ends[1], setSize, Int32(min(data.count, most))) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let count = data.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        guard count == data.count else {
            close(ends[0])
            throw DaemonError("the options are too long: \(data.count) bytes")
        }
        setenv(variable, "\(ends[0])", 1)
        return ends[0]
    }

    /// Whether `hydrant mount` started this process.
    package static var isOffered: Bool {
        guard let descriptor else { return false }
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    private static var descriptor: Int32? { getenv(variable).flatMap { Int32(String(cString: $0)) } }

    /// Reads the configuration, once. Clears the variable, so that children do not see it.
    static func take() throws(DaemonError) -> DaemonConfiguration {
        guard let descriptor else { throw DaemonError("no configuration was handed over; run hydrant mount") }
        let data = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readDataToEndOfFile()
        unsetenv(variable)
        return try decode(data)
    }

    static func decode(_ data: Data) throws(DaemonError) -> DaemonConfiguration {
        struct Header: Decodable { var version: Int }
        let decoder = JSONDecoder()
        guard let header = try? decoder.decode(Header.self, from: data) else {
            throw DaemonError("the handed over data is not a configuration; run hydrant mount")
        }
        let own = DaemonConfiguration.currentVersion
        guard header.version == own else {
            throw DaemonError(
                "was built for another release of Hydrant (daemon protocol \(own); that of the command is "
                    + "\(header.version)); build it again with the release of the command")
        }
        do { return try decoder.decode(DaemonConfiguration.self, from: data) } catch {
            throw DaemonError("the handed over configuration cannot be read: \(error)")
        }
    }
}
