import Foundation

/// The test's own certificate authority, and a certificate for `localhost`.
enum Certificate {
    /// Writes `ca.pem`, `server.pem` and `server.key`, the same for all servers of this process.
    static func put(into directory: String) throws {
        for (name, bytes) in try files.get() {
            guard FileManager.default.createFile(atPath: "\(directory)/\(name)", contents: bytes) else {
                throw HarnessError("cannot write \(directory)/\(name)")
            }
            // A server may run as another user.
            chmod("\(directory)/\(name)", 0o644)
        }
    }

    private static let files = Result {
        let directory = FileManager.default.temporaryDirectory.path + "/hyt-certificate-\(getpid())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try make(in: directory)
        return Dictionary(
            uniqueKeysWithValues: ["ca.pem", "server.pem", "server.key"].map {
                ($0, FileManager.default.contents(atPath: directory + "/" + $0) ?? Data())
            })
    }

    private static func make(in directory: String) throws {
        let script = """
            set -e; cd "\(directory)"
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Hydrant-tests \
              -keyout ca.key -out ca.pem
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
            """
        let child = try ChildProcess(
            ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": directory],
            output: directory + "/openssl")
        let result = child.wait(limit: 30)
        guard result.succeeded else { throw HarnessError("openssl: \(result)") }
    }
}
