import FileProvider
import Foundation
import Glibc
import ItemCatalog
import Testing
import Trees
import Volume

/// What made a program more than its user does not outlive a write by somebody else (inode(7)).
@Suite struct PrivilegeTests {
    private static let capability = Array("security.capability".utf8)

    private func change(_ test: TestVolume, _ path: String, mode: UInt32) async throws {
        let node = try await test.lookUp(path).node
        _ = try test.volume.setAttributes(
            node, to: AttributeRequest(attributes: AttributeChange(mode: mode), size: nil))
    }

    private func mode(_ test: TestVolume, _ path: String) async throws -> UInt32 {
        try await test.lookUp(path).attributes.record.mode
    }

    private func write(_ test: TestVolume, _ handle: HandleID, kills: Bool) throws {
        try Array("x".utf8).withUnsafeBytes { try test.volume.write(handle, $0, at: 0, killsPrivileges: kills) }
    }

    private func isCached(_ opened: Opened) -> Bool { opened.mode == .cached }

    /// setgid goes where the group may execute; elsewhere it means locking.
    @Test(
        arguments: [
            (0o4755, 0o755), (0o2755, 0o755), (0o6777, 0o777), (0o6711, 0o711), (0o2644, 0o2644), (0o6705, 0o2705),
            (0o755, 0o755), (0o1777, 0o1777),
        ] as [(UInt32, UInt32)])
    func aWriteTakesThemAway(before: UInt32, after: UInt32) async throws {
        let test = try TestVolume()
        try await test.save("a", "text")
        for kills in [false, true] {
            try await change(test, "a", mode: before)
            let opened = try await test.open("a", O_WRONLY)
            try write(test, opened.handle, kills: kills)
            #expect(try await mode(test, "a") == (kills ? after : before))
            try test.close(opened.handle)
            #expect(try await mode(test, "a") == (kills ? after : before))
        }
    }

    @Test(arguments: [false, true])
    func soDoesATruncation(kills: Bool) async throws {
        let test = try TestVolume()
        for (name, open) in [("opened", true), ("cut", false)] {
            try await test.save(Filename(name), "text")
            try await change(test, name, mode: 0o6755)
            let node = try await test.lookUp(name).node
            if open {
                try test.close(test.volume.open(node, flags: O_WRONLY | O_TRUNC, killsPrivileges: kills).handle)
            } else {
                _ = try test.volume.setAttributes(
                    node, to: AttributeRequest(attributes: AttributeChange(), size: 1, killsPrivileges: kills))
            }
            #expect(try await mode(test, name) == (kills ? 0o755 : 0o6755), "\(name)")
        }
    }

    /// chown(2).
    @Test func soDoesAnotherOwner() async throws {
        let test = try TestVolume()
        try await test.save("a", "text")
        try await change(test, "a", mode: 0o4755)
        let node = try await test.lookUp("a").node
        let request = AttributeRequest(attributes: AttributeChange(uid: 7), size: nil, killsPrivileges: true)
        #expect(try test.volume.setAttributes(node, to: request).record.mode == 0o755)
    }

    @Test func anyWriteTakesCapabilitiesAway() async throws {
        let test = try TestVolume()
        try await test.save("a", "text")
        let node = try await test.lookUp("a").node
        func set() throws {
            try test.volume.setExtendedAttribute(Self.capability, to: [1], of: node, presence: .any)
        }
        func has() -> Bool { (try? test.volume.extendedAttribute(Self.capability, of: node)) != nil }
        try set()
        let opened = try await test.open("a", O_WRONLY)
        #expect(has())
        try write(test, opened.handle, kills: false)
        #expect(!has())
        // Set while it is open.
        try set()
        try write(test, opened.handle, kills: false)
        #expect(!has())
        try set()
        try test.close(opened.handle)
        #expect(has())
    }

    // MARK: Passthrough

    /// Bytes for the local file of a new document, past us.
    private func writePast(_ test: TestVolume, _ opened: Opened, _ text: String, at offset: Int = 0) throws {
        guard case .passthrough(let id) = opened.mode, let descriptor = test.backing.registered[id] else {
            throw VolumeError(EBADF, "\(opened.mode)")
        }
        let count = Array(text.utf8).withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        #expect(count == text.utf8.count)
    }

    /// `cp -p`, `tar xp`, `setcap` on a fresh copy: what was written before they are set takes nothing away.
    @Test(arguments: [true, false])
    func whatIsSetOnAFileThatWasWrittenThroughTheSameOpenStays(writesAfterwards: Bool) async throws {
        let test = try TestVolume(passthrough: true)
        func has(_ node: NodeID) -> Bool { (try? test.volume.extendedAttribute(Self.capability, of: node)) != nil }
        for bits in [0o4755, 0o2755, 0o6755] as [UInt32] {
            let name = Filename("\(bits)")
            let (lookup, opened) = try await test.create(name)
            try writePast(test, opened, "bytes")
            let date = AttributeRequest(
                attributes: AttributeChange(modified: FileTime(seconds: 1_000)), size: nil)
            _ = try test.volume.setAttributes(lookup.node, to: date)
            try await change(test, name.string, mode: bits)
            try test.volume.setExtendedAttribute(Self.capability, to: [1], of: lookup.node, presence: .any)
            #expect(try await mode(test, name.string) == bits)
            if writesAfterwards { try writePast(test, opened, "more bytes") }
            #expect(try await mode(test, name.string) == (writesAfterwards ? 0o755 : bits))
            try test.close(opened.handle)
            #expect(try await mode(test, name.string) == (writesAfterwards ? 0o755 : bits))
            #expect(has(lookup.node) == !writesAfterwards)
            if !writesAfterwards {
                #expect(try await test.lookUp(name.string).attributes.record.modified == FileTime(seconds: 1_000))
            }
            #expect(try test.pendingNames().contains(name.string))
        }
    }

    /// What a write may have to take away we must see written.
    @Test(arguments: [0o4644, 0o2644, 0o6755] as [UInt32])
    func aSetuidFileIsNeverPassedThrough(bits: UInt32) async throws {
        let test = try TestVolume(passthrough: true)
        try await test.save("a", "text")
        try await change(test, "a", mode: bits)
        for flags in [O_RDONLY, O_RDWR, O_WRONLY] {
            let opened = try await test.open("a", flags)
            #expect(isCached(opened))
            try test.close(opened.handle)
        }
        let (_, created) = try await test.answer {
            try test.volume.create("new", in: .root, mode: bits, uid: 1_000, gid: 1_000)
        }
        #expect(isCached(created))
        try test.close(created.handle)
        #expect(test.backing.registrations == 1)
        // Without the bits it is again.
        try await change(test, "a", mode: 0o755)
        let opened = try await test.open("a", O_RDWR)
        #expect(!isCached(opened))
        try test.close(opened.handle)
    }

    @Test func aFileWithCapabilitiesIsNotPassedThroughToWriters() async throws {
        let test = try TestVolume(passthrough: true)
        try await test.save("a", "text")
        let node = try await test.lookUp("a").node
        try test.volume.setExtendedAttribute(Self.capability, to: [1], of: node, presence: .any)
        let opened = try await test.open("a", O_RDWR)
        #expect(isCached(opened))
        try test.close(opened.handle)
    }

    /// The bits came while a passthrough writer was at work: who wrote is not known, and they go.
    @Test func bitsThatComeUnderAPassthroughWriterGoWithItsWrite() async throws {
        let test = try TestVolume(passthrough: true)
        try await test.save("a", "text")
        let opened = try await test.open("a", O_RDWR)
        let descriptor = try #require(test.backing.registered.values.first)
        try await change(test, "a", mode: 0o4755)
        #expect(try await mode(test, "a") == 0o4755)
        #expect(pwrite(descriptor, "TEXT!", 5, 0) == 5)
        #expect(try await mode(test, "a") == 0o755)
        try test.close(opened.handle)
        #expect(try await mode(test, "a") == 0o755)
    }
}
