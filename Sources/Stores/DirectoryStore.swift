import Daemon
import DirectoryProvider
import Foundation
import Logging

extension ProviderRegistration {
    /// `dir:/PATH`.
    static let directory = ProviderRegistration(scheme: "dir", kind: .path) { location, _ in
        try checkIsDirectory(location)
        return try DirectoryProvider(root: location.path, logger: Logger(label: "hydrant"))
    }

    private static func checkIsDirectory(_ location: StoreLocation) throws(DaemonError) {
        var status = stat()
        guard stat(location.path, &status) == 0 else {
            throw DaemonError(
                "\(location.rest): \(String(cString: strerror(errno))); the store must be there before it is mounted")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw DaemonError("\(location.rest): is not a directory") }
    }
}
