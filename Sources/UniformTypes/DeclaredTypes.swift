/// Type identifiers that Apple's systems declare, or their owners publish, and the types that they conform to.
///
/// Source: Apple, *System-Declared Uniform Type Identifiers*; IANA's register of media types.
enum DeclaredTypes {
    struct Declaration: Sendable {
        var identifier: String
        var conformsTo: [String]
        /// The preferred one first.
        var mimeTypes: [String] = []
        /// For a machine without a MIME database.
        var extensions: [String] = []
    }

    private static func declare(
        _ identifier: String, _ conformsTo: String..., mime: [String] = [], ext: [String] = []
    ) -> Declaration {
        Declaration(identifier: identifier, conformsTo: conformsTo, mimeTypes: mime, extensions: ext)
    }

    static let all: [Declaration] = abstract + texts + pictures + sounds + documents + archives

    private static let abstract = [
        declare("public.item"),
        declare("public.content"),
        declare("public.composite-content", "public.content"),
        declare("public.data", "public.item", mime: ["application/octet-stream"]),
        declare("public.directory", "public.item", mime: ["inode/directory"]),
        declare("public.folder", "public.directory"),
        declare("public.symlink", "public.item", mime: ["inode/symlink"]),
        declare("public.archive", "public.data"),
        declare("public.executable", "public.data"),
        declare("public.database"),
        declare("public.calendar-event"),
        declare("public.contact"),
        declare("public.message"),
        declare("public.font", "public.data", "public.content"),
        declare("public.presentation", "public.composite-content"),
        declare("public.spreadsheet", "public.content"),
        declare("public.3d-content", "public.content"),
    ]

    private static let texts = [
        declare("public.text", "public.data", "public.content"),
        declare("public.plain-text", "public.text", mime: ["text/plain"], ext: ["txt", "text", "log"]),
        declare("public.utf8-plain-text", "public.plain-text"),
        declare("public.rtf", "public.text", mime: ["application/rtf", "text/rtf"], ext: ["rtf"]),
        declare("public.html", "public.text", mime: ["text/html"], ext: ["html", "htm"]),
        declare("public.xhtml", "public.xml", mime: ["application/xhtml+xml"], ext: ["xhtml"]),
        declare("public.xml", "public.text", mime: ["application/xml", "text/xml"], ext: ["xml"]),
        declare("public.json", "public.text", mime: ["application/json"], ext: ["json"]),
        declare("public.yaml", "public.text", mime: ["application/yaml", "application/x-yaml"], ext: ["yaml", "yml"]),
        declare("net.daringfireball.markdown", "public.plain-text", mime: ["text/markdown"], ext: ["md", "markdown"]),
        declare(
            "public.comma-separated-values-text", "public.delimited-values-text", mime: ["text/csv"], ext: ["csv"]),
        declare(
            "public.tab-separated-values-text", "public.delimited-values-text", mime: ["text/tab-separated-values"],
            ext: ["tsv"]),
        declare("public.delimited-values-text", "public.text"),
        declare("public.css", "public.text", mime: ["text/css"], ext: ["css"]),
        declare("public.source-code", "public.plain-text"),
        declare("public.script", "public.source-code"),
        declare("public.shell-script", "public.script", mime: ["application/x-shellscript"], ext: ["sh"]),
        declare("public.python-script", "public.script", mime: ["text/x-python", "text/x-python3"], ext: ["py"]),
        declare("public.perl-script", "public.script", mime: ["application/x-perl"], ext: ["pl", "pm"]),
        declare("public.ruby-script", "public.script", mime: ["application/x-ruby"], ext: ["rb"]),
        declare("public.php-script", "public.script", mime: ["application/x-php"], ext: ["php"]),
        declare(
            "com.netscape.javascript-source", "public.script", mime: ["text/javascript", "application/javascript"],
            ext: ["js"]),
        declare("public.swift-source", "public.source-code", mime: ["text/x-swift"], ext: ["swift"]),
        declare("public.c-source", "public.source-code", mime: ["text/x-csrc"], ext: ["c"]),
        declare("public.c-header", "public.source-code", mime: ["text/x-chdr"], ext: ["h"]),
        declare("public.c-plus-plus-source", "public.source-code", mime: ["text/x-c++src"], ext: ["cpp", "cc", "cxx"]),
        declare("public.patch-file", "public.text", mime: ["text/x-patch"], ext: ["patch", "diff"]),
        declare("com.apple.ical.ics", "public.text", "public.calendar-event", mime: ["text/calendar"], ext: ["ics"]),
        declare("public.vcard", "public.text", "public.contact", mime: ["text/vcard"], ext: ["vcf"]),
        declare(
            "public.email-message", "public.message", "public.data", "public.content", mime: ["message/rfc822"],
            ext: ["eml"]),
    ]

    private static let pictures = [
        declare("public.image", "public.data", "public.content"),
        declare("public.jpeg", "public.image", mime: ["image/jpeg"], ext: ["jpg", "jpeg", "jpe"]),
        declare("public.jpeg-2000", "public.image", mime: ["image/jp2"], ext: ["jp2"]),
        declare("public.png", "public.image", mime: ["image/png"], ext: ["png"]),
        declare("public.tiff", "public.image", mime: ["image/tiff"], ext: ["tif", "tiff"]),
        declare("com.compuserve.gif", "public.image", mime: ["image/gif"], ext: ["gif"]),
        declare("com.microsoft.bmp", "public.image", mime: ["image/bmp"], ext: ["bmp"]),
        declare("com.microsoft.ico", "public.image", mime: ["image/vnd.microsoft.icon"], ext: ["ico"]),
        declare("org.webmproject.webp", "public.image", mime: ["image/webp"], ext: ["webp"]),
        declare("public.heic", "public.heif-standard", mime: ["image/heic"], ext: ["heic"]),
        declare("public.heif", "public.heif-standard", mime: ["image/heif"], ext: ["heif"]),
        declare("public.heif-standard", "public.image"),
        declare("public.avif", "public.heif-standard", mime: ["image/avif"], ext: ["avif"]),
        declare("public.camera-raw-image", "public.image", mime: ["image/x-dcraw"]),
        declare("public.svg-image", "public.image", "public.xml", mime: ["image/svg+xml"], ext: ["svg"]),
        declare("com.adobe.photoshop-image", "public.image", mime: ["image/vnd.adobe.photoshop"], ext: ["psd"]),
        declare("com.adobe.postscript", "public.data", "public.content", mime: ["application/postscript"], ext: ["ps"]),
    ]

    private static let sounds = [
        declare("public.audiovisual-content", "public.data", "public.content"),
        declare("public.audio", "public.audiovisual-content"),
        declare("public.movie", "public.audiovisual-content"),
        declare("public.video", "public.movie"),
        declare("public.mp3", "public.audio", mime: ["audio/mpeg"], ext: ["mp3"]),
        declare("public.mpeg-4-audio", "public.audio", mime: ["audio/mp4"], ext: ["m4a"]),
        declare("com.microsoft.waveform-audio", "public.audio", mime: ["audio/x-wav", "audio/wav"], ext: ["wav"]),
        declare("public.aiff-audio", "public.audio", mime: ["audio/x-aiff"], ext: ["aiff", "aif"]),
        declare("public.midi-audio", "public.audio", mime: ["audio/midi"], ext: ["mid", "midi"]),
        declare("org.xiph.flac", "public.audio", mime: ["audio/flac"], ext: ["flac"]),
        declare("org.xiph.ogg-audio", "public.audio", mime: ["audio/ogg"], ext: ["oga", "ogg"]),
        declare("public.mpeg-4", "public.movie", mime: ["video/mp4"], ext: ["mp4", "m4v"]),
        declare("public.mpeg", "public.movie", mime: ["video/mpeg"], ext: ["mpg", "mpeg"]),
        declare("public.avi", "public.movie", mime: ["video/x-msvideo", "video/vnd.avi"], ext: ["avi"]),
        declare("com.apple.quicktime-movie", "public.movie", mime: ["video/quicktime"], ext: ["mov"]),
        declare("org.webmproject.webm", "public.movie", mime: ["video/webm"], ext: ["webm"]),
        declare("org.matroska.mkv", "public.movie", mime: ["video/x-matroska"], ext: ["mkv"]),
        declare("public.playlist", mime: []),
        declare("public.m3u-playlist", "public.text", "public.playlist", mime: ["audio/x-mpegurl"], ext: ["m3u"]),
    ]

    private static func openDocument(_ kind: String, _ base: String, _ ext: String) -> Declaration {
        declare(
            "org.oasis-open.opendocument.\(kind)", "public.data", base,
            mime: ["application/vnd.oasis.opendocument.\(kind)"], ext: [ext])
    }

    private static let documents =
        [
            declare(
                "com.adobe.pdf", "public.data", "public.composite-content", mime: ["application/pdf"], ext: ["pdf"]),
            declare(
                "org.idpf.epub-container", "public.data", "public.composite-content", mime: ["application/epub+zip"],
                ext: ["epub"]),
            declare(
                "com.microsoft.word.doc", "public.data", "public.composite-content", mime: ["application/msword"],
                ext: ["doc"]),
            declare(
                "com.microsoft.excel.xls", "public.data", "public.spreadsheet", mime: ["application/vnd.ms-excel"],
                ext: ["xls"]),
            declare(
                "com.microsoft.powerpoint.ppt", "public.data", "public.presentation",
                mime: ["application/vnd.ms-powerpoint"], ext: ["ppt"]),
            declare("org.openxmlformats.openxml", "public.data"),
        ]
        + [
            ("wordprocessingml.document", "public.composite-content", "docx"),
            ("spreadsheetml.sheet", "public.spreadsheet", "xlsx"),
            ("presentationml.presentation", "public.presentation", "pptx"),
        ].map { kind, base, ext in
            declare(
                "org.openxmlformats.\(kind)", "org.openxmlformats.openxml", base,
                mime: ["application/vnd.openxmlformats-officedocument.\(kind)"], ext: [ext])
        }
        + [
            openDocument("text", "public.composite-content", "odt"),
            openDocument("spreadsheet", "public.spreadsheet", "ods"),
            openDocument("presentation", "public.presentation", "odp"),
            openDocument("graphics", "public.composite-content", "odg"),
            declare(
                "org.sqlite.sqlite3", "public.data", "public.database", "public.content",
                mime: ["application/vnd.sqlite3", "application/x-sqlite3"], ext: ["sqlite", "sqlite3"]),
        ]

    private static let archives = [
        declare("public.zip-archive", "public.archive", "public.content", mime: ["application/zip"], ext: ["zip"]),
        declare("public.tar-archive", "public.archive", "public.content", mime: ["application/x-tar"], ext: ["tar"]),
        declare(
            "org.gnu.gnu-zip-archive", "public.archive", "public.content", mime: ["application/gzip"], ext: ["gz"]),
        declare(
            "org.gnu.gnu-zip-tar-archive", "org.gnu.gnu-zip-archive", mime: ["application/x-compressed-tar"],
            ext: ["tgz", "tar.gz"]),
        declare(
            "public.bzip2-archive", "public.archive", "public.content",
            mime: ["application/x-bzip", "application/x-bzip2"],
            ext: ["bz2"]),
        declare("org.tukaani.xz-archive", "public.archive", "public.content", mime: ["application/x-xz"], ext: ["xz"]),
        declare(
            "org.7-zip.7-zip-archive", "public.archive", "public.content", mime: ["application/x-7z-compressed"],
            ext: ["7z"]),
        declare(
            "public.iso-image", "public.archive", "public.content",
            mime: ["application/vnd.efi.iso", "application/x-cd-image"], ext: ["iso"]),
        declare("public.unix-executable", "public.executable", mime: ["application/x-executable"]),
        declare("public.truetype-font", "public.font", mime: ["font/ttf"], ext: ["ttf"]),
        declare("public.opentype-font", "public.font", mime: ["font/otf"], ext: ["otf"]),
    ]
}
