import Foundation
import MountHarness
import Testing

/// How users name what they mean: through links, with more slashes than needed, in bytes that are no UTF-8.
@Suite("Paths on the command line")
struct PathTests {
    @Test("a mount point by way of a link, with slashes behind it", arguments: ["", "/", "//", "/."])
    func link(_ tail: String) async throws {
        try await withSandbox { mount in
            let link = mount.scratch + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: mount.mountPoint)
            try Seeding(mount.store).file("letter.txt", "text")
            var words = mount.mountCommand()
            words[words.firstIndex(of: mount.mountPoint)!] = link + tail
            let mounted = try mount.hydrant(words)
            #expect(mounted.succeeded, "\(mounted)")
            defer { _ = try? mount.hydrant(["unmount", mount.mountPoint]) }
            for command in [["sync"], ["conflicts"], ["pause"], ["resume"], ["status"], ["download"]] {
                let result = try mount.hydrant(command + [link + tail])
                #expect(result.succeeded, "\(command): \(result)")
            }
            let item = try mount.hydrant(["status", link + tail + "/letter.txt"])
            #expect(item.stdout.contains("letter.txt"), "\(item)")
            let unmounted = try mount.hydrant(["unmount", link + tail])
            #expect(unmounted.succeeded, "\(unmounted)")
            #expect(try mount.run("ls -A") == "")
        }
    }

    @Test("a link in the mount stays an item of its own")
    func inside() async throws {
        try await withMount(seed: { try Seeding($0).file("folder/letter.txt", "text") }) { mount in
            try mount.run("ln -s folder/letter.txt link")
            #expect(try mount.hydrant(["status", mount.mountPoint + "/link"]).stdout.contains("link  "))
        }
    }

    @Test("names that are not UTF-8: of documents, folders, and the working directory")
    func bytes() async throws {
        let seed: @Sendable (String) throws -> Void = { store in
            let make =
                #"mkdir "$1"/$'f\xe4'; echo text >"$1"/$'f\xe4/n\xe4me\xff'; echo text >"$1"/$'\xf4\x8f\xbb\xbf'"#
            let sandbox = try Sandbox()
            defer { try? sandbox.remove() }
            #expect(try sandbox.run(["bash", "-c", make, "bash", store], limit: 10).succeeded)
        }
        try await withMount(seed: seed) { mount in
            let output = try mount.run(
                #"""
                name=$'f\xe4/n\xe4me\xff'
                "$HYDRANT" download "$name" >/dev/null; "$HYDRANT" pin "$name" >/dev/null
                getfattr --only-values -n user.hydrant.state "$name"; echo
                cd $'f\xe4'; "$HYDRANT" status --json $'n\xe4me\xff' | grep -c '"pinned" : true'
                "$HYDRANT" coordinate --write $'n\xe4me\xff' -- sh -c 'echo more >>"$0"; cat "$0"' {}
                "$HYDRANT" bookmark resolve "$("$HYDRANT" bookmark make $'n\xe4me\xff')" | tail -c 7 | od -An -tx1
                "$HYDRANT" status $'../\xf4\x8f\xbb\xbf' | grep -c placeholder
                """#)
            #expect(
                output == """
                    downloaded,pinned
                    1
                    text
                    more
                     2f 6e e4 6d 65 ff 0a
                    1

                    """, "\(output)")
            let none = try mount.shell(#""$HYDRANT" status $'none\xff'"#)
            #expect(none.status == 1 && none.stderr.contains("none\u{fffd}"), "\(none)")
            let elsewhere = try mount.shell(#""$HYDRANT" mount "dir:$STORE" "$SCRATCH"/$'m\xff'"#)
            #expect(elsewhere.status == 64 && elsewhere.stderr.contains("not UTF-8"), "\(elsewhere)")
        }
    }

    @Test("{} within an argument is refused, with the right way to write it")
    func words() async throws {
        try await withMount(seed: { try Seeding($0).file("a.txt", "text") }) { mount in
            for command in ["coordinate --read a.txt -- sh -c 'cat {}'", "access x -- cp {} to-{folder}"] {
                let refused = try mount.shell("\"$HYDRANT\" " + command)
                #expect(refused.status == 64 && refused.stderr.contains("argument of its own"), "\(refused)")
                #expect(refused.stdout.isEmpty)
            }
            #expect(try mount.run("ls") == "a.txt\n")
            #expect(try mount.run("\"$HYDRANT\" coordinate --read a.txt -- sh -c 'cat \"$@\"' sh {}") == "text")
        }
    }
}
