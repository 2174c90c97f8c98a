import CGIO

/// The names of a type's icons.
enum TypeIcons {
    /// The best name first: that of the type, then that of its group (`text-x-generic`).
    ///
    /// Source: freedesktop.org, *Shared MIME-info Database*, `icon` and `generic-icon`.
    static func names(_ mimeType: String) -> [String] {
        var names: [String] = []
        if let icon = g_content_type_get_icon(mimeType) {
            defer { g_object_unref(UnsafeMutableRawPointer(icon)) }
            var next = gio_icon_names(icon)
            while let name = next?.pointee {
                names.append(String(cString: name))
                next = next?.advanced(by: 1)
            }
        }
        if let generic = g_content_type_get_generic_icon_name(mimeType) {
            names.append(String(cString: generic))
            g_free(generic)
        }
        var seen: Set<String> = []
        // Symbolic icons are for buttons.
        return (names + ["text-x-generic"]).filter { !$0.hasSuffix("-symbolic") && seen.insert($0).inserted }
    }
}
