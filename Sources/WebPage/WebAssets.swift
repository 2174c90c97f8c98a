/// The page's own files, which are in the program.
enum WebAssets {
    struct Asset: Sendable {
        var type: String
        var bytes: [UInt8]
    }

    static let all: [String: Asset] = [
        "/": Asset(type: "text/html; charset=utf-8", bytes: PackageResources.index_html),
        "/page.css": Asset(type: "text/css; charset=utf-8", bytes: PackageResources.page_css),
        "/icon.svg": Asset(type: "image/svg+xml", bytes: PackageResources.icon_svg),
        "/main.js": script(PackageResources.main_js),
        "/api.js": script(PackageResources.api_js),
        "/words.js": script(PackageResources.words_js),
        "/parts.js": script(PackageResources.parts_js),
        "/list.js": script(PackageResources.list_js),
        "/folder.js": script(PackageResources.folder_js),
        "/state.js": script(PackageResources.state_js),
    ]

    private static func script(_ bytes: [UInt8]) -> Asset {
        Asset(type: "text/javascript; charset=utf-8", bytes: bytes)
    }
}
