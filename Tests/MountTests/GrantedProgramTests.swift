import FileProviderTesting
import Foundation
import MountHarness
import Testing

/// A right that is for one executable, and programs that only look like that one.
@Suite("Rights for one program")
struct GrantedProgramTests {
    /// `ask BOOKMARK [PROGRAM ARGUMENT…]`: prints what the daemon answers; with PROGRAM, a child of this process asks when
    /// this one, which the daemon took for what it was, has become that program.
    private static let ask = """
        import base64, json, os, signal, socket, struct, sys, time
        text = sys.argv[1].replace("-", "+").replace("_", "/")
        directory = os.environ["XDG_RUNTIME_DIR"] + "/hydrant/"
        name = [name for name in os.listdir(directory) if name.endswith(".sock")][0]
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(directory + name)
        def ask(request):
            body = json.dumps(request).encode()
            client.sendall(struct.pack(">I", len(body)) + body)
            length = struct.unpack(">I", client.recv(4, socket.MSG_WAITALL))[0]
            return client.recv(length, socket.MSG_WAITALL).decode()
        def access():
            return ask({"access": {"_0": {"bookmark": text + "=" * (-len(text) % 4), "pid": os.getpid()}}})
        ask({"ping": {}})
        if len(sys.argv) == 2:
            print(access())
            sys.exit()
        parent = os.getpid()
        if os.fork():
            os.execv(sys.argv[2], sys.argv[2:])
        for attempt in range(6000):
            if os.readlink(f"/proc/{parent}/exe") == sys.argv[2]: break
            time.sleep(0.01)
        print(access(), flush=True)
        os.kill(parent, signal.SIGKILL)

        """

    private func with(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(seed: FileCoordinatorTests.seed) { mount in
            try Data(Self.ask.utf8).write(
                to: URL(filePath: mount.scratch + "/ask", directoryHint: .notDirectory))
            try body(mount)
        }
    }

    private static func isGranted(_ answer: String) -> Bool { answer.contains("\"access\":") }

    @Test("a process that becomes the allowed program after it has connected gets nothing for its child")
    func becomes() async throws {
        try await with { mount in
            let answers = try mount.run(
                """
                program=$(realpath /usr/bin/sleep)
                bookmark=$("$HYDRANT" bookmark make a.txt --grant read --for "$program")
                /usr/bin/python3 "$SCRATCH/ask" "$bookmark" "$program" 60 || true
                """)
            #expect(answers.contains("notGranted"), "\(answers)")
            #expect(!Self.isGranted(answers))
        }
    }

    @Test(
        "a file bound over the program's path in another mount namespace is refused; the program itself is allowed",
        .enabled(if: geteuid() == 0, "mounts"))
    func named() async throws {
        try await with { mount in
            let answers = try mount.run(
                """
                export PYTHONHOME=/usr program="$SCRATCH/allowed"
                cp "$(realpath /usr/bin/python3)" "$program"; cp "$program" "$SCRATCH/other"
                bookmark=$("$HYDRANT" bookmark make a.txt --grant read --for "$program")
                "$program" "$SCRATCH/ask" "$bookmark"
                "$SCRATCH/other" "$SCRATCH/ask" "$bookmark"
                unshare --mount bash -c 'mount --bind "$SCRATCH/other" "$program"; exec "$program" "$SCRATCH/ask" "$0"' "$bookmark"
                """
            ).split(separator: "\n").map(String.init)
            #expect(answers.map(Self.isGranted) == [true, false, false], "\(answers)")
            #expect(answers.last?.contains("the calling program is not") == true)
        }
    }
}
