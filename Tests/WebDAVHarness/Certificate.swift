import Foundation
import MountHarness

/// A certificate authority of the test's own, and a certificate for `localhost`.
enum Certificate {
    /// Makes `ca.pem`, `server.pem` and `server.key`.
    static func make(in directory: String) throws {
        let script = """
            set -e; cd "\(directory)"
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Hydrant-tests \
              -keyout ca.key -out ca.pem
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
            chmod 644 server.key
            """
        let child = try ChildProcess(
            ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": directory],
            output: directory + "/openssl")
        let result = child.wait(limit: 30)
        guard result.succeeded else { throw HarnessError("openssl: \(result)") }
    }
}
