import Foundation
import MountHarness
import Testing

/// How many documents may be open at once, and what becomes of the rest when they are.
@Suite struct OpenFileTests {
    /// Opens d0, d1, … and writes to the first; says how many it got, and why no more. Then for each line that it reads it
    /// closes half of them, and tries to open one more.
    private static let hog = """
        import os, sys, errno
        held = []
        why = "none"
        try:
            for index in range(500):
                held.append(os.open("d%d" % index, os.O_RDWR))
        except OSError as error:
            why = errno.errorcode[error.errno]
        os.write(held[0], b"changed")
        os.fsync(held[0])
        print("open", len(held), why, flush=True)
        while not os.path.exists(os.environ["SCRATCH"] + "/go"):
            import time; time.sleep(0.02)
        for descriptor in held[len(held) // 2:]:
            os.close(descriptor)
        again = os.open("d499", os.O_RDONLY)
        print("again", os.read(again, 100), flush=True)
        while not os.path.exists(os.environ["SCRATCH"] + "/end"):
            time.sleep(0.02)
        """

    @Test(
        "a program can open as many files as the hard limit allows, then gets EMFILE; everything else goes on",
        arguments: [true, false])
    func limit(passthrough: Bool) async throws {
        let options = MountOptions.with {
            $0.passthrough = passthrough
            $0.limit = 90
        }
        try await withSandbox(options) { mount in
            for index in 0..<500 { try Seeding(mount.store).file("d\(index)", "document \(index)") }
            try Seeding(mount.scratch).file("hog.py", Self.hog)
            let mounted = try mount.sandbox.run(
                ["sh", "-c", "ulimit -Sn 100; ulimit -Hn 400; exec \"$HYDRANT\" \"$@\"", "sh"] + mount.mountCommand(),
                environment: mount.environment, limit: 30)
            try #require(mounted.succeeded, "\(mounted)")
            try mount.run("ls | wc -l; cat d499")
            let hog = try mount.start("exec python3 \"$SCRATCH/hog.py\"")
            try waitUntil(30, "it has all that it gets") { hog.stdout.contains("open") || !hog.isRunning }
            let words = hog.stdout.split(whereSeparator: \.isWhitespace)
            try #require(words.count == 3, "\(hog.stdout)")
            let count = try #require(Int(words[1]))
            #expect(words[2] == "EMFILE")
            // More than the soft limit, and all but the daemon's own.
            #expect(count > 200 && count < 300, "\(count)")
            // What is open works, and so does all that opens nothing for a program.
            let status = try mount.hydrant(["status", mount.mountPoint])
            #expect(status.succeeded, "\(status)")
            try mount.run("ls -l > /dev/null; mkdir folder; mv d400 folder/d400; rm d401")
            try mount.sync()
            #expect(try Seeding(mount.store).text("d0").hasPrefix("changed"))
            #expect(try Seeding(mount.store).text("folder/d400") == "document 400")
            try mount.run("touch \"$SCRATCH/go\"")
            try waitUntil(30, "it opens another one") { hog.stdout.contains("again") || !hog.isRunning }
            #expect(hog.stdout.contains("again b'document 499'"), "\(hog.stdout)")
            try mount.run("touch \"$SCRATCH/end\"")
            #expect(hog.wait(limit: 20).succeeded)
            try mount.unmount()
        }
    }
}
