import FileProvider
import Foundation

extension BrokenProvider {
    /// Rules 701 to 706.
    static let namers: [BrokenProvider] = [
        BrokenProvider(701, "Spaces and dots at the end of a name are dropped, as on Windows.") {
            renaming(&$0) { name in
                var bytes = name.bytes
                while let last = bytes.last, last == 0x20 || last == 0x2e { bytes.removeLast() }
                return Filename(bytes: bytes)
            }
        },
        BrokenProvider(702, "Names are composed (NFC).") {
            renaming(&$0) { name in
                // A name that is not UTF-8 stays as it is.
                guard Filename(name.string) == name else { return name }
                return Filename(name.string.precomposedStringWithCanonicalMapping)
            }
        },
        BrokenProvider(703, "Names are cut after 250 bytes.") {
            renaming(&$0) { name in Filename(bytes: name.bytes.prefix(250)) }
        },
        BrokenProvider(704, "Bytes of a name that are not UTF-8 become U+FFFD.") {
            renaming(&$0) { name in Filename(name.string) }
        },
        BrokenProvider(705, "A slash in a name becomes a colon.") {
            $0.create = { base, template, contents async throws(FileProviderError) in
                var template = template
                template.filename = Filename(bytes: template.filename.bytes.map { $0 == 0x2f ? 0x3a : $0 })
                return try await base.createItem(template, contents: contents)
            }
        },
        BrokenProvider(706, "A rename decodes percent signs.") {
            $0.move = { base, identifier, folder, name, version async throws(FileProviderError) in
                let decoded = name.string.removingPercentEncoding.map { Filename($0) } ?? name
                return try await base.moveItem(identifier, to: folder, as: decoded, baseVersion: version)
            }
        },
    ]

    /// A creation under a valid name gives the item another name.
    private static func renaming(
        _ tampering: inout Tampering, _ change: @escaping @Sendable (Filename) -> Filename
    ) {
        tampering.create = { base, template, contents async throws(FileProviderError) in
            var template = template
            if template.filename.problem == nil { template.filename = change(template.filename) }
            return try await base.createItem(template, contents: contents)
        }
    }
}
