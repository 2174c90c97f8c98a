import Foundation
import MountHarness
import Testing

@Suite("Passwords without encryption")
struct PlainTextTests {
    @Test("domain add, login and mount say that others can read the password, and doctor reports it")
    func warned() async throws {
        try await withSandbox { mount in
            func check(_ result: ChildResult, _ location: SourceLocation = #_sourceLocation) {
                #expect(
                    result.succeeded && result.stderr.contains("http://cloud.invalid: http:// is not encrypted"),
                    "\(result)", sourceLocation: location)
            }
            // (Nobody has this name: RFC 6761.)
            check(try mount.hydrant(["domain", "add", "work", "http://cloud.invalid/dav", "--user", "ada"]))
            check(
                try mount.sandbox.run(
                    ["sh", "-c", "echo secret | \"$HYDRANT\" login work --password-stdin"],
                    environment: mount.environment, limit: 20))
            check(try mount.hydrant(["mount", "work", mount.mountPoint]))
            try mount.unmount()
            let state = mount.sandbox.path + "/data/hydrant/domains/work"
            let doctor = try mount.hydrant(["doctor", state])
            #expect(
                doctor.status == 1 && doctor.stdout.contains("http://cloud.invalid: uses http://"), "\(doctor)"
            )
            #expect(doctor.stdout.split(separator: "\n").count == 2, "\(doctor)")
        }
    }
}
