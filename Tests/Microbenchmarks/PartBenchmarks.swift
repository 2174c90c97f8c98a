import ContentStore
import FileProvider
import Glibc
import ItemCatalog
import MountHarness
import Trees
import Volume
import WebDAVProvider

/// The catalog's transactions.
func catalogBenchmarks(_ stage: Stage) throws -> [Benchmark] {
    let catalog = stage.store.catalog
    let records = try stage.nodes.prefix(500).map { try stage.volume.attributes(of: $0).record.id }
    return [
        Benchmark(name: "catalog: read of one inode", count: 1_000) { _ in
            for number in 0..<1_000 { _ = try catalog.read { try $0.inode(records[number % records.count]) } }
        },
        Benchmark(name: "catalog: commit of a change to one inode", count: records.count) { round in
            for record in records {
                try catalog.write { writer in
                    _ = try writer.setAttributes(
                        record, to: AttributeChange(mode: round % 2 == 0 ? 0o640 : 0o600), settle: 3_600)
                }
            }
        },
        Benchmark(name: "catalog: a change of many in one commit", count: records.count) { round in
            try catalog.write { writer in
                for record in records {
                    _ = try writer.setAttributes(
                        record, to: AttributeChange(mode: round % 2 == 0 ? 0o660 : 0o620), settle: 3_600)
                }
            }
        },
    ]
}

/// The map of the ranges of a document that are here.
func contentBenchmarks(_ stage: Stage) throws -> [Benchmark] {
    let store = try ContentStore(directory: stage.scratch + "/ranges")
    let size: Int64 = 64 << 20
    let piece = [UInt8](repeating: 7, count: 4_096)
    var number: Int64 = 0
    var fragmented: ContentFile?
    return [
        // Every other page of a large document, as left by programs that seek.
        Benchmark(name: "extent map: 4 KiB come somewhere else each", count: 2_000) { _ in
            number += 1
            let file = try store.open(
                GenerationID(inode: number, number: 1), size: size, baseSize: size, present: RangeSet())
            for index in 0..<2_000 {
                let page = Int64(index * 7_919 % 8_000) * 2
                try piece.withUnsafeBytes { try file.store($0, at: page * 4_096) }
            }
            fragmented = file
        },
        Benchmark(name: "extent map: what is missing, of 2,000 ranges", count: 2_000) { _ in
            for index in 0..<2_000 {
                let offset = Int64(index * 104_729 % 15_000) * 4_096
                _ = fragmented?.missing(in: offset..<offset + 131_072)
            }
        },
    ]
}

/// A listing in Apache's form.
func parsingBenchmarks() -> [Benchmark] {
    var text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n"
    let count = 5_000
    for number in 0..<count {
        text += """
            <D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/">
            <D:href>/dav/a%20folder/document%20\(number).txt</D:href>
            <D:propstat>
            <D:prop>
            <lp1:resourcetype/>
            <lp1:creationdate>2026-11-20T10:11:12Z</lp1:creationdate>
            <lp1:getcontentlength>16384</lp1:getcontentlength>
            <lp1:getlastmodified>Fri, 20 Nov 2026 10:11:12 GMT</lp1:getlastmodified>
            <lp1:getetag>"4000-64\(number)"</lp1:getetag>
            </D:prop>
            <D:status>HTTP/1.1 200 OK</D:status>
            </D:propstat>
            </D:response>

            """
    }
    text += "</D:multistatus>\n"
    let bytes = Array(text.utf8)
    return [
        Benchmark(name: "PROPFIND: reading one response of many", count: count) { _ in
            let reader = MultistatusReader()
            var found = 0
            for start in stride(from: 0, to: bytes.count, by: 65_536) {
                try bytes[start..<min(start + 65_536, bytes.count)].withUnsafeBytes {
                    found += try reader.feed($0).count
                }
            }
            try reader.finish()
            precondition(found == count)
        }
    ]
}
