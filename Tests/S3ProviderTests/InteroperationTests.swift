import FileProvider
import FileProviderTesting
import Foundation
import MountHarness
import S3Harness
import S3Provider
import Testing

/// What Hydrant writes, rclone and Amazon's own library read, and the other way round.
@Suite("S3: other programs", .timeLimit(.minutes(5)))
struct InteroperationTests {
    private static let tools =
        ProcessInfo.processInfo.environment["HYDRANT_TEST_SERVERS"]
        ?? FileManager.default.currentDirectoryPath + "/.build/servers"

    private static func run(_ words: [String], _ folder: String) throws -> String {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8"]
        let result = try ChildProcess(words, environment: environment, output: folder + "/out").wait(limit: 60)
        guard result.succeeded else { throw HarnessError("\(words): \(result)") }
        return result.stdout
    }

    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "hydrant-s3-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private static func read(_ provider: S3Provider, _ item: Item) async throws -> String {
        let sink = CollectingSink(range: 0..<item.size)
        try await provider.startProvidingItem(
            item.identifier, version: item.version.content, range: 0..<item.size, into: sink)
        return String(decoding: try #require(sink.bytes), as: UTF8.self)
    }

    private static func letter(_ name: Filename) -> ItemTemplate {
        ItemTemplate(
            parentIdentifier: .rootContainer, filename: name, kind: .document,
            contentModificationDate: FileTime(seconds: 1_600_000_000, nanoseconds: 123_456_789),
            posixPermissions: 0o640, extendedAttributes: ["user.tag": Array("red".utf8)])
    }

    @Test(arguments: S3ServerKind.tested) func rclone(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { bucket in
            let provider = try bucket.provider()
            try await Self.withFolder { folder in
                let rclone = { (words: [String]) throws -> String in
                    let result = try bucket.rclone(words, folder: folder)
                    guard result.succeeded else { throw HarnessError("rclone \(words): \(result)") }
                    return result.stdout
                }
                let remote = bucket.remote
                _ = try await provider.createItem(
                    Self.letter("Brief über.txt"), contents: BytesSource(Array("ours".utf8)))
                let listed = try rclone(["lsjson", remote])
                #expect(listed.contains("\"Name\":\"Brief über.txt\""), "\(listed)")
                #expect(listed.contains("2020-09-13T12:26:40.123456789Z"), "\(listed)")
                #expect(try rclone(["cat", remote + "/Brief über.txt"]) == "ours")
                // A document that rclone sends has the date of its file, to the nanosecond.
                try "theirs".write(toFile: folder + "/theirs", atomically: true, encoding: .utf8)
                _ = try Self.run(["touch", "-d", "2019-05-06 07:08:09.987654321 UTC", folder + "/theirs"], folder)
                _ = try rclone(["copyto", folder + "/theirs", remote + "/a/theirs"])
                let page = try await provider.enumerateItems(in: ItemIdentifier("a/"), startingAt: nil)
                let item = try #require(page.items.first)
                #expect(item.filename == "theirs")
                #expect(item.contentModificationDate == FileTime(seconds: 1_557_126_489, nanoseconds: 987_654_321))
                #expect(try await Self.read(provider, item) == "theirs")
                // rclone finds nothing to do after a change of ours that keeps date and size.
                _ = try await provider.moveItem(
                    item.identifier, to: .rootContainer, as: "theirs", baseVersion: item.version)
                let checked = try rclone(["lsf", "-R", remote])
                #expect(Set(checked.split(separator: "\n").map(String.init)).contains("theirs"), "\(checked)")
                _ = try rclone(["check", folder, remote, "--include", "/theirs"])
            }
            await provider.invalidate()
        }
    }

    @Test(arguments: S3ServerKind.tested) func boto3(_ kind: S3ServerKind) async throws {
        try await withS3(kind) { bucket in
            let provider = try bucket.provider()
            try await Self.withFolder { folder in
                _ = try await provider.createItem(Self.letter("ours.txt"), contents: BytesSource(Array("ours".utf8)))
                let large = [UInt8](repeating: 7, count: 17 << 20)
                _ = try await provider.createItem(Self.letter("large"), contents: BytesSource(large))
                let program = """
                    import boto3, sys
                    from botocore.config import Config
                    endpoint, bucket = sys.argv[1:]
                    client = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id="\(S3TestServer.accessKey)",
                        aws_secret_access_key="\(S3TestServer.secretKey)", region_name="us-east-1",
                        config=Config(s3={"addressing_style": "path"}))
                    ours = client.get_object(Bucket=bucket, Key="ours.txt", ChecksumMode="ENABLED")
                    print(ours["Body"].read().decode(), ours["ContentType"], ours["Metadata"]["mtime"])
                    # (It checks the checksum that the server sends.)
                    print(len(client.get_object(Bucket=bucket, Key="large")["Body"].read()))
                    client.put_object(Bucket=bucket, Key="theirs", Body=b"theirs", ContentType="text/html",
                        ChecksumAlgorithm="CRC32", Metadata={"mtime": "1500000000.5", "owner": "ada"})
                    """
                let printed = try Self.run(
                    [Self.tools + "/bin/python3", "-c", program, bucket.endpoint, bucket.name], folder)
                #expect(printed == "ours text/plain 1600000000.123456789\n\(17 << 20)\n", "\(printed)")
                let item = try await provider.providePlaceholder(for: ItemIdentifier("theirs"))
                #expect(item.contentModificationDate == FileTime(seconds: 1_500_000_000, nanoseconds: 500_000_000))
                #expect(try await Self.read(provider, item) == "theirs")
            }
            await provider.invalidate()
        }
    }
}
