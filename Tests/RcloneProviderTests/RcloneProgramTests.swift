import FileProvider
import Foundation
import HTTPTransport
import MountHarness
import Testing

@testable import FileProviderTesting
@testable import RcloneProvider

@Suite("Rclone: the program", .timeLimit(.minutes(5))) struct RcloneProgramTests {
    @Test func aMissingProgramIsSaid() throws {
        let error = #expect(throws: FileProviderError.self) { try RcloneProgram(environment: ["PATH": "/nowhere"]) }
        #expect(error?.message.contains("install rclone 1.63") ?? false, "\(String(describing: error))")
        #expect(throws: FileProviderError.self) {
            try RcloneProgram(environment: ["PATH": "/usr/bin", "RCLONE": "/nowhere/rclone"])
        }
    }

    @Test func anUnknownRemoteIsSaid() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(at: "stroe:x")
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.beginServing(ScratchDomain(of: provider))
            }
            #expect(error?.message.contains("“stroe”") ?? false, "\(String(describing: error))")
            #expect(error?.message.contains("there are: store") ?? false, "\(String(describing: error))")
            await provider.invalidate()
        }
    }

    @Test func aPathThatIsNotThereIsSaid() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider(at: "store:\(remote.root)/nowhere")
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.providePlaceholder(for: .rootContainer)
            }
            #expect(error?.code == .noSuchItem)
            await provider.invalidate()
        }
    }

    @Test func itComesBackWhenItIsKilled() async throws {
        try await withRemote(.local) { remote in
            try "one".write(toFile: remote.root + "/a.txt", atomically: true, encoding: .utf8)
            let provider = try remote.provider()
            #expect(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.count == 1)
            for _ in 0..<2 {
                let pid = try #require(provider.rclone)
                kill(pid, SIGKILL)
                try await eventually { provider.rclone != pid && provider.rclone != nil }
                #expect(try await provider.enumerateItems(in: .rootContainer, startingAt: nil).items.count == 1)
            }
            let pid = try #require(provider.rclone)
            await provider.invalidate()
            try await eventually { !MountedStore.isAlive(pid) }
        }
    }

    @Test func whatRunsWhenItIsKilledFailsAsUnreachable() async throws {
        try await withRemote(.local) { remote in
            try Data(count: 8 << 20).write(to: URL(filePath: remote.root + "/big"))
            // Slow enough to be cut off.
            let provider = try remote.provider(["RCLONE_BWLIMIT": "1M"])
            let item = try await provider.providePlaceholder(for: ItemIdentifier("big"))
            let pid = try #require(provider.rclone)
            let sink = FirstBytes { kill(pid, SIGKILL) }
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.startProvidingItem(
                    item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
            }
            #expect(error?.code == .serverUnreachable, "\(String(describing: error))")
            await provider.invalidate()
        }
    }

    @Test func anEncryptedConfigurationNeedsItsPassword() async throws {
        try await withRemote(.local) { remote in
            let command = ["sh", "-c", "printf 'a word\\na word\\n' | \"$RCLONE\" config encryption set"]
            let child = try ChildProcess(command, environment: remote.environment, output: remote.directory + "/set")
            let result = child.wait(limit: 20)
            #expect(result.succeeded, "\(result)")
            let text = try String(contentsOfFile: remote.configuration, encoding: .utf8)
            try #require(text.contains("RCLONE_ENCRYPT"))

            let without = try remote.provider()
            let error = await #expect(throws: FileProviderError.self) {
                try await without.beginServing(ScratchDomain(of: without))
            }
            #expect(error?.code == .notAuthenticated)
            #expect(error?.message.contains("RCLONE_PASSWORD_COMMAND") ?? false, "\(String(describing: error))")
            await without.invalidate()

            let wrong = try remote.provider(password: { Secret("another word") })
            let refusal = await #expect(throws: FileProviderError.self) {
                try await wrong.beginServing(ScratchDomain(of: wrong))
            }
            #expect(refusal?.code == .notAuthenticated, "\(String(describing: refusal))")
            #expect(!(refusal?.description.contains("another word") ?? true))
            await wrong.invalidate()

            let stored = try remote.provider(password: { Secret("a word") })
            try await stored.beginServing(ScratchDomain(of: stored))
            #expect(try await stored.enumerateItems(in: .rootContainer, startingAt: nil).items.isEmpty)
            // Another process has to be told it again; and nobody reads it on its command line.
            let pid = try #require(stored.rclone)
            let words = try Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline"))
            let variables = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ"))
            #expect(words.range(of: Data("a word".utf8)) == nil && variables.range(of: Data("a word".utf8)) == nil)
            kill(pid, SIGKILL)
            try await eventually { stored.rclone != pid && stored.rclone != nil }
            #expect(try await stored.enumerateItems(in: .rootContainer, startingAt: nil).items.isEmpty)
            await stored.invalidate()

            let commanded = try remote.provider(["RCLONE_PASSWORD_COMMAND": #"echo "a word""#])
            try await commanded.beginServing(ScratchDomain(of: commanded))
            #expect(try await commanded.enumerateItems(in: .rootContainer, startingAt: nil).items.isEmpty)
            await commanded.invalidate()
        }
    }

    @Test func aStoreThatIsAwayIsUnreachable() async throws {
        try await withRemote(.sftp) { remote in
            let provider = try remote.provider(at: "store,port=1:\(remote.root)")
            let error = await #expect(throws: FileProviderError.self) {
                try await provider.enumerateItems(in: .rootContainer, startingAt: nil)
            }
            #expect(error?.code == .serverUnreachable, "\(String(describing: error))")
            await provider.invalidate()
        }
    }

    @Test func quotaIsReported() async throws {
        try await withRemote(.local) { remote in
            let provider = try remote.provider()
            let quota = try await provider.quota()
            var status = statvfs()
            #expect(statvfs(remote.root, &status) == 0)
            #expect(quota.total == Int64(status.f_blocks) * Int64(status.f_frsize) && quota.used > 0)
            await provider.invalidate()
        }
    }
}

/// Calls back at the first bytes, and takes all.
struct FirstBytes: ContentSink {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) { if offset == 0 { body() } }
}

func eventually(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw HarnessError("not within 60 s") }
        try await Task.sleep(for: .milliseconds(20))
    }
}
