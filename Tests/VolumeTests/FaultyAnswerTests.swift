import FileProvider
import FileProviderTesting
import Foundation
import ItemCatalog
import Testing
import Trees
import Volume

/// What a program gets to see of a store that answers twice, late, or not to the end.
@Suite(.timeLimit(.minutes(10))) struct FaultyAnswerTests {
    private let test: TestVolume
    private let text = String(repeating: "0123456789", count: 2_000)

    init() throws { test = try TestVolume() }

    @Test func bytesThatComeTwiceAreReadOnce() async throws {
        try test.remote.put("a", text)
        test.provider.plan.inject(.duplicate, into: .startProvidingItem, times: 5)
        #expect(try await test.contents("a") == text)
    }

    /// The bytes were sent before the document changed, and come after the program has heard of the change.
    @Test func aReaderOfLateBytesGetsOneVersion() async throws {
        try test.remote.put("a", "old bytes")
        let handle = try await test.open("a").handle
        let gate = Gate()
        test.provider.plan.inject(.lateAnswer(gate), into: .startProvidingItem)
        let reader = Task { try await test.read(handle) }
        await gate.waitForArrivals()
        try test.remote.put("a", "new bytes!")
        try await test.refresh()
        gate.open()
        let found = String(decoding: try await reader.value, as: UTF8.self)
        #expect(["old bytes", "new bytes!"].contains(found), "\(found)")
        test.volume.close(handle)
        #expect(try await test.contents("a") == "new bytes!")
    }

    @Test func aReadGoesOnAfterTheConnectionBroke() async throws {
        try test.remote.put("a", text)
        test.provider.plan.inject(.disconnect(after: 5_000, .undone), into: .startProvidingItem)
        let handle = try await test.open("a").handle
        // The read that was waiting may fail; what is read afterwards is right.
        _ = try? await test.read(handle)
        #expect(try await test.read(handle) == Array(text.utf8))
        test.volume.close(handle)
        #expect(try await test.contents("a") == text)
    }

    @Test(arguments: [true, false])
    func aSaveSurvivesABrokenConnection(isDone: Bool) async throws {
        try test.remote.put("a", "old")
        let handle = try await test.open("a", O_RDWR | O_TRUNC).handle
        try test.write(handle, text)
        test.provider.plan.inject(.disconnect(after: 5_000, isDone ? .done : .undone), into: .itemChanged)
        try test.close(handle)
        #expect(try await test.sync().isEmpty)
        #expect(test.remote.snapshot() == ["a": .document(Array(text.utf8))])
        #expect(try await test.contents("a") == text)
    }
}
