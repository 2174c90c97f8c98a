import FileProvider
import FileProviderTesting
import Foundation
import Synchronization
import Testing

@testable import ProcessProvider

/// Hydrant's side of a conversation, with a program that sends and reads as it likes.
@Suite("A conversation in the provider protocol", .timeLimit(.minutes(3)))
struct ConnectionTests {
    private static let handler = ProgramReception(log: nil).handler()

    /// Ends both sides at the end of `body`, whatever happens.
    private static func with(
        _ patience: Patience = Patience(), _ body: (Connection, RawPeer) async throws -> Void
    ) async throws {
        var ends: [Int32] = [-1, -1]
        try #require(
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let peer = RawPeer(ends[1])
        defer { peer.end() }
        let connection = try await Connection.over(ends[0], name: "peer", patience: patience, handler)
        let running = Task { await connection.run() }
        do {
            try await body(connection, peer)
        } catch {
            connection.end(FileProviderError(.cancelled, "over"))
            _ = await running.value
            throw error
        }
        connection.end(FileProviderError(.cancelled, "over"))
        _ = await running.value
    }

    private static let download = Message.Download(
        identifier: ItemIdentifier("1"), version: ByteString([1]), range: 0..<(1 << 30))

    @Test("single bytes in order are taken, however slow they are stored") func singleBytes() async throws {
        try await Self.with { connection, peer in
            let gate = Gate()
            let sink = GatedSink(gate)
            async let answer: Message.Nothing = connection.call(.startProvidingItem, Self.download, into: sink)
            let request = try await peer.request()
            await peer.send(
                (0..<200_000).map { .bytes(request: request.id, offset: $0, [UInt8(truncatingIfNeeded: $0)]) })
            await peer.send([.json(Array(#"{"id":\#(request.id),"result":{}}"#.utf8))])
            gate.open()
            _ = try await answer
            let isWhole = sink.bytes == (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
            #expect(isWhole)
        }
    }

    @Test("scattered bytes without end are refused") func scattered() async throws {
        try await Self.with { connection, peer in
            let gate = Gate()
            defer { gate.open() }
            let call = Task {
                let _: Message.Nothing = try await connection.call(
                    .startProvidingItem, Self.download, into: GatedSink(gate))
            }
            let request = try await peer.request()
            await peer.send((0..<100_000).map { .bytes(request: request.id, offset: $0 * 2, [1]) })
            try await Self.eventually { connection.ending != nil }
            #expect(
                connection.ending?.message.contains("too small pieces") == true,
                "\(String(describing: connection.ending))")
            gate.open()
            await #expect(throws: FileProviderError.self) { try await call.value }
        }
    }

    @Test("the parts of a long answer are joined in order") func parts() async throws {
        try await Self.with { connection, peer in
            async let answer: Message.Items = connection.call(
                .enumerateItems, Message.Enumerate(folder: .rootContainer, page: nil))
            let request = try await peer.request()
            func item(_ number: Int) -> String {
                """
                {"identifier":"\(number)","parent":"\(ItemIdentifier.rootContainer.rawValue)","filename":"\(number)",\
                "kind":"document","size":\(number),"contentModificationDate":{"seconds":1},\
                "version":{"content":"a","metadata":"b"}}
                """
            }
            func message(_ field: String, _ number: Int, _ more: String = "") -> Frame {
                .json(Array(#"{"id":\#(request.id),"\#(field)":{"items":[\#(item(number))]\#(more)}}"#.utf8))
            }
            await peer.send((0..<5_000).map { message("partial", $0) })
            await peer.send([message("result", 5_000, #","nextPage":"p","leftOut":[{"filename":"x","reason":"y"}]"#)])
            let page = try await answer.value
            #expect(page.items.map(\.size) == Array(0...5_000))
            #expect(page.nextPage?.bytes == Array("p".utf8) && page.leftOut.count == 1)
        }
    }

    @Test("a document without a size is no empty document") func sizeless() async throws {
        try await Self.with { connection, peer in
            let call = Task { () -> Message.ItemAnswer in
                try await connection.call(
                    .providePlaceholder, Message.Identified(identifier: ItemIdentifier("1")))
            }
            let request = try await peer.request()
            let item =
                #"{"identifier":"1","parent":"1","filename":"a","kind":"document","contentModificationDate":{"seconds":1},"version":{"content":"a","metadata":"b"}}"#
            await peer.send([.json(Array(#"{"id":\#(request.id),"result":{"item":\#(item)}}"#.utf8))])
            let error = await #expect(throws: FileProviderError.self) { _ = try await call.value }
            #expect(error?.message.contains("item.size is missing") == true, "\(String(describing: error))")
        }
    }

    @Test("what a program does not read waits in its store, and nothing ends for that") func unread() async throws {
        try await Self.with { connection, peer in
            let (size, count) = (Int64(32 << 20), 4)
            let sources = (0..<count).map { _ in ZeroSource(size: size, peer) }
            let change = Message.Change(
                identifier: ItemIdentifier("1"), contents: Message.Contents(size: size),
                metadata: WireMetadata(ItemMetadata(contentModificationDate: FileTime(seconds: 1))),
                baseVersion: WireVersion(ItemVersion(content: ContentVersion("a"), metadata: MetadataVersion("b"))))
            let calls = sources.map { source in
                Task { () -> Message.Nothing in try await connection.call(.itemChanged, change, contents: source) }
            }
            for number in 1...count {
                await peer.send([
                    .json(
                        Array(
                            #"{"id":\#(number),"method":"readContents","params":{"request":\#(number),"offset":0,"length":\#(size),"credit":\#(size)}}"#
                                .utf8))
                ])
            }
            // (Before the program reads anything. The connection must not end for that.)
            try await Self.eventually { sources.allSatisfy { $0.isBegun } }
            await peer.send([.json(Array(#"{"id":100,"method":"ping","params":{}}"#.utf8))])
            var answered = 0
            while answered < count + 1 {
                guard case .json(let json) = try await peer.next() else { continue }
                if String(decoding: json, as: UTF8.self).contains("\"result\"") { answered += 1 }
            }
            for number in 1...count { await peer.send([.json(Array(#"{"id":\#(number),"result":{}}"#.utf8))]) }
            for call in calls { _ = try await call.value }
            #expect(peer.received >= size * Int64(count))
            let most = sources.map(\.mostAhead).max() ?? 0
            #expect(most < 16 << 20, "\(most >> 20) MiB were ahead of the program")
        }
    }

    @Test("a program is not silent while this side reads what it has asked for") func slowContents() async throws {
        var patience = Patience()
        // (Far above what a busy machine takes between two steps.)
        patience.silence = .seconds(6)
        try await Self.with(patience) { connection, peer in
            let call = Self.change(connection, SlowSource(.seconds(9)))
            _ = try await peer.request()
            await peer.send([Self.read])
            var isRead = false
            while !isRead {
                switch try await peer.next() {
                case .bytes: isRead = true
                case .json(let json): #expect(!String(decoding: json, as: UTF8.self).contains("cancel"))
                }
            }
            await peer.send([.json(Array(#"{"id":1,"result":{}}"#.utf8))])
            _ = try await call.value
        }
    }

    @Test("a cancelled upload's contents are not read any more") func cancelled() async throws {
        try await Self.with { connection, peer in
            let source = SlowSource(.seconds(3_600))
            let call = Self.change(connection, source)
            _ = try await peer.request()
            await peer.send([Self.read])
            try await Self.eventually { source.isBegun }
            call.cancel()
            var (isTold, isAnswered) = (false, false)
            while !isTold || !isAnswered {
                guard case .json(let json) = try await peer.next() else { continue }
                let text = String(decoding: json, as: UTF8.self)
                if text.contains(#""method":"cancel""#) { isTold = true }
                if text.contains(#""error""#) { isAnswered = true }
            }
            await peer.send([.json(Array(#"{"id":1,"error":{"code":"cancelled","message":"x"}}"#.utf8))])
            await #expect(throws: FileProviderError.self) { _ = try await call.value }
        }
    }

    @Test("a program that says the same in another order is the same") func abilities() throws {
        func said(_ json: String) throws -> Message.Abilities {
            try JSONDecoder().decode(Message.Abilities.self, from: Data(json.utf8))
        }
        let first = try said(#"{"version":1,"providerIdentifier":"x","abilities":["Trashing","QuotaReporting"]}"#)
        #expect(
            first.isSame(
                as: try said(
                    #"{"version":1,"providerIdentifier":"x","isReadOnly":false,"abilities":["QuotaReporting","Trashing"]}"#
                )))
        #expect(!first.isSame(as: try said(#"{"version":1,"providerIdentifier":"x","abilities":["Trashing"]}"#)))
        #expect(
            !first.isSame(
                as: try said(
                    #"{"version":1,"providerIdentifier":"x","isReadOnly":true,"abilities":["Trashing","QuotaReporting"]}"#
                )))
    }

    private static let read = Frame.json(
        Array(#"{"id":1,"method":"readContents","params":{"request":1,"offset":0,"length":10,"credit":100}}"#.utf8))

    private static func change(
        _ connection: Connection, _ source: some ContentSource
    ) -> Task<Message.Nothing, any Error> {
        Task {
            try await connection.call(
                .createItem, Message.Contents(size: source.size), contents: source)
        }
    }

    private static func eventually(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

/// The program's end of the socket.
private final class RawPeer: Sendable {
    private let socket: Int32
    private let parser = Mutex(FrameParser())
    private let count = Mutex<Int64>(0)
    private let queue = DispatchQueue(label: "peer's reads")
    private let sending = DispatchQueue(label: "peer's writes")
    /// Bytes of documents that have come.
    var received: Int64 { count.withLock { $0 } }

    init(_ socket: Int32) { self.socket = socket }

    func end() { close(socket) }

    /// Ends early when the other side hangs up.
    func send(_ frames: [Frame]) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            sending.async { [socket] in
                let bytes = frames.flatMap(\.encoded)
                var done = 0
                while done < bytes.count {
                    let sent = bytes.withUnsafeBytes {
                        Glibc.send(socket, $0.baseAddress! + done, $0.count - done, Int32(MSG_NOSIGNAL))
                    }
                    if sent <= 0 { break }
                    done += sent
                }
                continuation.resume()
            }
        }
    }

    func next() async throws -> Frame {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                continuation.resume(with: Result { try wait() })
            }
        }
    }

    private func wait() throws -> Frame {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let frame = try parser.withLock({ try $0.next() }) {
                if case .bytes(_, _, let bytes) = frame { count.withLock { $0 += Int64(bytes.count) } }
                return frame
            }
            let read = recv(socket, &buffer, buffer.count, 0)
            guard read > 0 else { throw FileProviderError(.serverUnreachable, "the other side has hung up") }
            parser.withLock { $0.append(buffer[..<read]) }
        }
    }

    /// The next request.
    func request() async throws -> (id: UInt64, method: String) {
        while true {
            guard case .json(let json) = try await next(), case .request(let id, let method) = try Envelope(json).kind
            else { continue }
            return (id, method)
        }
    }
}

/// Takes nothing before the gate is open.
private final class GatedSink: ContentSink {
    private let gate: Gate
    private let held = Mutex<[UInt8]>([])
    var bytes: [UInt8] { held.withLock { $0 } }
    init(_ gate: Gate) { self.gate = gate }
    func write(_ bytes: [UInt8], at offset: Int64) async throws(FileProviderError) {
        try await gate.pass()
        held.withLock { $0 += bytes }
    }
}

/// Counts how far it is read before the program has what came before.
private final class ZeroSource: ContentSource {
    let size: Int64
    private let peer: RawPeer
    private let given = Mutex<(total: Int64, most: Int64)>((0, 0))
    var mostAhead: Int64 { given.withLock { $0.most } }
    var isBegun: Bool { given.withLock { $0.total > 0 } }

    init(size: Int64, _ peer: RawPeer) { (self.size, self.peer) = (size, peer) }

    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        given.withLock { given in
            given.total += Int64(count)
            given.most = max(given.most, given.total - peer.received)
        }
        return [UInt8](repeating: 0, count: count)
    }
}

private final class SlowSource: ContentSource {
    let size: Int64 = 10
    private let pause: Duration
    private let begun = Mutex(false)
    var isBegun: Bool { begun.withLock { $0 } }
    init(_ pause: Duration) { self.pause = pause }
    func read(at offset: Int64, upTo count: Int) async throws(FileProviderError) -> [UInt8] {
        begun.withLock { $0 = true }
        do { try await Task.sleep(for: pause) } catch { throw FileProviderError(.cancelled, "cancelled") }
        return [UInt8](repeating: 7, count: count)
    }
}
