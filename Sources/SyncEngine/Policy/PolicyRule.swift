/// Whether a program may download documents by opening them.
package enum PolicyDecision: String, Sendable, Codable, CaseIterable {
    case allow
    /// The program cannot open documents that are not here; it can read those that are.
    case deny
    /// Like ``deny``, but a person is asked to decide for the future.
    case ask
}

/// The decision for one program.
package struct PolicyRule: Sendable, Codable, Equatable {
    /// A program's name without its folder; may be a pattern of fnmatch(3).
    package var program: String
    package var decision: PolicyDecision

    package init(_ program: String, _ decision: PolicyDecision) {
        self.program = program
        self.decision = decision
    }

    /// In bytes.
    package static let longestName = 255
    /// How many rules a domain may have.
    package static let most = 1_000

    /// Whether the string can be a program's name or a pattern.
    package static func isPossible(_ program: String) -> Bool {
        !program.isEmpty && program.utf8.count <= longestName && !program.utf8.contains { $0 == 0x2F || $0 < 0x20 }
    }

    /// Programs that open every document in a folder, or on a machine, without anybody asking for the contents: they
    /// make thumbnails or indexes, or look for viruses. Opening a folder in a file manager would download its pictures,
    /// and a desktop's search engine would download the whole store.
    package static let builtIn: [PolicyRule] = [
        // Thumbnails: Xfce and MATE, GNOME, KDE (a plug-in is named by the process that runs it), and for single
        // formats.
        "tumblerd", "ffmpegthumbnailer", "totem-video-thumbnailer", "gdk-pixbuf-thumbnailer", "gnome-thumbnail-font",
        "mate-thumbnail-font", "evince-thumbnailer", "atril-thumbnailer", "xreader-thumbnailer", "papers-thumbnailer",
        "gsf-office-thumbnailer", "glycin-thumbnailer", "raw-thumbnailer", "rsvg-thumbnailer", "gst-thumbnailer",
        "bijiben-thumbnailer", "f3d-thumbnailer", "*-thumbnailer", "thumbnail.so",
        // Indexes.
        "tracker-extract*", "tracker-miner-fs*", "localsearch*", "baloo_file", "baloo_file_extractor", "recollindex",
        "updatedb*", "zeitgeist-*", "strigi*", "nepomuk*",
        // Virus scanners.
        "clamscan", "clamdscan", "clamd", "clamonacc",
    ].map { PolicyRule($0, .deny) }
}
