import CLinux
import ContentStore
import Foundation
import Testing

/// Labels of modified content, as files carry them.
@Suite struct LabelTests {
    private let test: TestStore
    private let id = GenerationID(inode: 5, number: 1)
    private var inventory: ContentInventory { ContentInventory(directory: test.directory) }

    init() throws { test = try TestStore() }

    private let full = ContentLabel(
        path: [0x66, 0xff, 0x2f, 0x62], identifier: "id/ä", base: [0, 1, 0xfe], modified: -5, mode: 0o4751,
        extents: LabelledExtents(baseSize: 100, ranges: [0..<10, 50..<60]))

    @Test func whatIsWrittenIsRead() throws {
        _ = try test.open(size: 100)
        #expect(test.store.label(of: id) == nil)
        #expect(try test.store.setLabel(full, of: id))
        #expect(test.store.label(of: id) == full)
        #expect(inventory.label(of: test.path()) == full)
        let plain = ContentLabel(path: Array("a".utf8), mode: 0o600)
        #expect(try test.store.setLabel(plain, of: id))
        #expect(test.store.label(of: id) == plain)
        #expect(try test.store.setLabel(nil, of: id))
        #expect(test.store.label(of: id) == nil)
    }

    /// One attribute, which a person can read as well.
    @Test func aLabelIsOneAttribute() throws {
        let file = try test.open(size: 100)
        try test.store.setLabel(full, of: id)
        let text = "mode=4751\nbase=0001fe\nmtime=-5\nextents=100:0-10,50-60\nidentifier=id/ä\npath=f"
        #expect(attributes(file) == ["user.hydrant.label": Array(text.utf8) + [0xff, 0x2f, 0x62]])
        var odd = full
        (odd.path, odd.identifier) = (Array("a\nmode=777".utf8), "a\r\nb\\nc\\")
        try test.store.setLabel(odd, of: id, replacing: full)
        #expect(test.store.label(of: id) == odd)
        try test.store.setLabel(nil, of: id, replacing: odd)
        #expect(attributes(file).isEmpty)
    }

    /// Labels of earlier versions, an attribute for each fact, which are there after an upgrade.
    @Test(arguments: [true, false])
    func olderLabels(isReplaced: Bool) throws {
        let file = try test.open(size: 100)
        let facts: [String: [UInt8]] = [
            "path": full.path, "identifier": Array("id/ä".utf8), "base": [0, 1, 0xfe], "mtime": Array("-5".utf8),
            "mode": Array("4751".utf8), "extents": Array("100:0-10,50-60".utf8),
        ]
        for (name, value) in facts {
            #expect(setxattr(test.path(), "user.hydrant." + name, value, value.count, 0) == 0)
        }
        #expect(test.store.label(of: id) == full)
        if isReplaced {
            #expect(try test.store.setLabel(full, of: id))
            #expect(test.store.label(of: id) == full)
            #expect(Set(attributes(file).keys) == ["user.hydrant.label"])
            // Both are there after a crash: the new one counts, and both are removed.
            #expect(setxattr(test.path(), "user.hydrant.path", "old", 3, 0) == 0)
            #expect(test.store.label(of: id) == full)
            #expect(try test.store.setLabel(nil, of: id))
            #expect(attributes(file).isEmpty)
        } else {
            #expect(try test.store.setLabel(nil, of: id))
            #expect(attributes(file).isEmpty)
            // What a crash has left of one is no label, and is removed as well.
            #expect(setxattr(test.path(), "user.hydrant.mode", "644", 3, 0) == 0)
            #expect(test.store.label(of: id) == nil)
            #expect(try test.store.setLabel(nil, of: id))
            #expect(attributes(file).isEmpty)
        }
    }

    /// Where the two do not fit beside each other (ext4 has one block for all attributes of a file).
    @Test func aLongOlderLabelMakesRoom() throws {
        let file = try test.open(size: 100)
        var long = full
        long.path = Array(String(repeating: "folder/", count: 160).utf8)
        long.identifier = String(repeating: "x", count: 1_000)
        for (name, value) in ["path": long.path, "identifier": Array(long.identifier!.utf8), "mode": [0x37]] {
            #expect(setxattr(test.path(), "user.hydrant." + name, value, value.count, 0) == 0)
        }
        #expect(try test.store.setLabel(long, of: id))
        #expect(test.store.label(of: id) == long)
        #expect(Set(attributes(file).keys) == ["user.hydrant.label"])
    }

    /// Whatever somebody has written there: the file counts as labelled, and as one with unknown bytes.
    @Test(arguments: [
        "", "=", "nonsense", "mode=9\npath", "mode=\u{0}\nextents=1:2", "base=0\nidentifier=\\",
        String(repeating: "path=", count: 1_000),
    ])
    func anUnreadableLabelIsOne(text: String) throws {
        _ = try test.open(size: 100)
        if setxattr(test.path(), "user.hydrant.label", text, text.utf8.count, 0) != 0 {
            // (No room for the long one: ext4.)
            return #expect(errno == ENOSPC && text.utf8.count > 4_000)
        }
        let label = try #require(test.store.label(of: id))
        #expect(label.path.isEmpty && label.extents == LabelledExtents(baseSize: .max, ranges: []))
    }

    /// A later version may say more.
    @Test func unknownLinesAreSkipped() throws {
        _ = try test.open(size: 100)
        let text = "colour=red\nnothing\nmode=640\n=\npath=a"
        #expect(setxattr(test.path(), "user.hydrant.label", text, text.utf8.count, 0) == 0)
        #expect(test.store.label(of: id) == ContentLabel(path: Array("a".utf8), mode: 0o640))
    }

    private func attributes(_ file: ContentFile) -> [String: [UInt8]] {
        var names = [CChar](repeating: 0, count: 4_096)
        let count = max(0, flistxattr(file.descriptor, &names, names.count))
        var found: [String: [UInt8]] = [:]
        for name in names[..<count].split(separator: 0) {
            let name = String(decoding: name.map(UInt8.init(bitPattern:)), as: UTF8.self)
            var value = [UInt8](repeating: 0, count: 4_096)
            found[name] = Array(value[..<max(0, fgetxattr(file.descriptor, name, &value, value.count))])
        }
        return found
    }

    @Test func onlyADifferenceIsWritten() throws {
        let file = try test.open(size: 100)
        try test.store.setLabel(full, of: id)
        let before = try file.status()
        usleep(20_000)
        #expect(try !test.store.setLabel(full, of: id))
        #expect(try !test.store.setLabel(full, of: id, replacing: full))
        #expect(try file.status() == before)
        var moved = full
        moved.path = Array("elsewhere".utf8)
        #expect(try test.store.setLabel(moved, of: id, replacing: full))
        #expect(try file.status().changed > before.changed)
        #expect(try file.status().modified == before.modified)
    }

    @Test func aFileThatIsNotThereHasNone() throws {
        #expect(try !test.store.setLabel(full, of: id))
        #expect(test.store.label(of: id) == nil)
    }

    @Test func aLongPathKeepsItsEndAndManyRangesTheLongest() throws {
        _ = try test.open(size: 100)
        var label = full
        label.path = Array(
            (Array(repeating: "folder-with-a-long-name", count: 160) + ["document.txt"]).joined(separator: "/").utf8)
        label.extents = LabelledExtents(
            baseSize: 10_000_000, ranges: (0..<5_000).map { $0 * 2_000..<$0 * 2_000 + ($0 % 100 == 0 ? 1_000 : 1) })
        try test.store.setLabel(label, of: id)
        let read = try #require(test.store.label(of: id))
        #expect(String(decoding: read.path, as: UTF8.self).hasSuffix("/document.txt"))
        #expect(read.path.count < 1_300)
        // Too little may be said to be here, never too much.
        let extents = try #require(read.extents)
        #expect(!extents.ranges.isEmpty && extents.baseSize == 10_000_000)
        for range in extents.ranges { #expect(label.extents?.ranges.contains(range) == true && range.count == 1_000) }
    }

    @Test func rangesAreRealBelowTheBaseAndEverythingIsAboveIt() {
        let extents = LabelledExtents(baseSize: 100, ranges: [0..<10, 90..<120])
        #expect(extents.real(size: 200) == [0..<10, 90..<100, 100..<200])
        #expect(extents.real(size: 95) == [0..<10, 90..<95])
        #expect(LabelledExtents(baseSize: 0, ranges: []).real(size: 5) == [0..<5])
    }

    @Test func aSnapshotInheritsNone() throws {
        let file = try test.open(size: 100)
        try file.write([1, 2, 3], at: 0)
        try test.store.setLabel(full, of: id)
        let snapshot = try test.store.snapshot(of: file)
        #expect(flistxattr(try #require(snapshot.descriptor), nil, 0) == 0)
        #expect(flistxattr(file.descriptor, nil, 0) > 0)
    }

    @Test func whatIsLabelledIsPutAsideAndNeverRemoved() throws {
        for (inode, generation): (Int64, Int64) in [(3, 1), (4, 1)] { _ = try test.open(inode, generation, size: 7) }
        try test.store.setLabel(full, of: GenerationID(inode: 3, number: 1))
        let aside = test.directory + "/lost+found/3.1"
        #expect(test.store.cleanUp(highest: 9) { _ in false } == [aside])
        #expect(inventory.label(of: aside) == full)
        #expect(inventory.status(of: aside)?.size == 7)
        #expect(inventory.entries().map(\.path) == [aside])
        // Nor is what is there already replaced.
        _ = try test.open(3, 1, size: 8)
        let other = try inventory.putAside(test.path(3, 1))
        #expect(other == aside + ".2")
        #expect(inventory.status(of: aside)?.size == 7 && inventory.status(of: other)?.size == 8)
        #expect(
            inventory.entries().map(\.id) == [GenerationID(inode: 3, number: 1), GenerationID(inode: 3, number: 1)])
    }

    @Test func theStoreSaysWhetherItCan() { #expect(test.store.keepsLabels) }
}
