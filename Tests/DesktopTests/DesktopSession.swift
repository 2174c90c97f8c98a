import Foundation
import MountHarness

/// A desktop's session, with a bus and folders of its own, beside a mount with pictures and texts.
enum DesktopSession {
    static let pictures = 12
    static let texts = 12
    /// For a program of a desktop to be done, seconds: many of them draw at once on two processors.
    static let limit = 150.0
    /// Calls a method on the bus; by itself `gdbus` waits 25 s, in which a program may not even have started.
    static let call = "gdbus call --session --timeout \(Int(limit))"

    /// Pictures of a size that makes a thumbnail worth it, and texts with a word of their own each.
    private static func seed(_ store: String) throws {
        let seeding = Seeding(store)
        for number in 0..<pictures { try seeding.file("p\(number).svg", picture(number)) }
        for number in 0..<texts {
            try seeding.file("t\(number).txt", String(repeating: "a text with uniqueword\(number) in it\n", count: 50))
        }
    }

    private static func picture(_ number: Int) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="400" height="300">
        <rect width="\(20 * (number + 1))" height="200" fill="green"/></svg>
        """
    }

    /// Before the session begins, so that programs which the bus starts have them too. (Tracker leaves out what is in the folder
    /// for temporary files, and does not read pictures of this kind.) Without a graphics card GTK draws in software: cairo does
    /// that in a fraction of the time of OpenGL, with which Nautilus takes two processors for minutes.
    private static let settings = """
        export XDG_CACHE_HOME="$SCRATCH/cache" XDG_CONFIG_HOME="$SCRATCH/config" TMPDIR="$SCRATCH/temporary"
        export GSETTINGS_BACKEND=keyfile QT_QPA_PLATFORM=offscreen GIO_USE_VFS=local GSK_RENDERER=cairo
        mkdir -p "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME" "$TMPDIR" "$HOME"
        cd /

        """

    /// - Parameters:
    ///   - script: what happens in the session, in Bash; `refused` prints the events of what was refused.
    ///   - onScreen: with an X server of its own.
    /// - Returns: its output.
    static func run(_ script: String, _ mount: MountedStore, onScreen: Bool = false) throws -> String {
        let refused = """
            refused() { "$HYDRANT" events --last 1000 --no-follow --json "$MOUNT" | grep '"event":"refused"' || true; }

            """
        try (refused + script).write(toFile: mount.sandbox.scratch + "/session.sh", atomically: true, encoding: .utf8)
        let start = "exec \(onScreen ? "xvfb-run -a " : "")dbus-run-session -- bash -eu \"$SCRATCH/session.sh\""
        return try mount.run(settings + start, limit: limit)
    }

    static func states(_ mount: MountedStore) throws -> Set<String> {
        Set(try mount.run("\"$HYDRANT\" status * | cut -d' ' -f1").split(separator: "\n").map(String.init))
    }

    static func atMount(_ body: @escaping @Sendable (MountedStore) throws -> Void) async throws {
        try await withMount(
            .with {
                $0.limit = limit + 30
                $0.arguments = ["--read-ahead", "none"]
            }, seed: seed
        ) { mount in
            _ = try mount.run("ls >/dev/null")
            try body(mount)
        }
    }
}
