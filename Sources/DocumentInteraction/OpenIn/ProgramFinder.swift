import CGIO
import Foundation

/// Finds registered programs through GIO, as do file managers and `gio mime`. Everything here blocks.
///
/// Source: freedesktop.org, *Association between MIME types and applications* 1.0.1, *Desktop Entry Specification* 1.5.
enum ProgramFinder {
    /// The key of a desktop entry for the program's own types.
    static let ownerKey = "X-Hydrant-Owner"
    private static let group = "Desktop Entry"

    /// The programs for a type and the types that it conforms to: the default, then its owners, then added programs and
    /// the others, in the order of the folders in which they are registered.
    static func programs(for mimeType: String) -> [OpenInProgram] {
        // The default may be stale: its desktop entry, or the entry's program, may be gone.
        let preferred = g_app_info_get_default_for_type(mimeType, 0)
        defer { if let preferred { g_object_unref(UnsafeMutableRawPointer(preferred)) } }
        let all = g_app_info_get_all_for_type(mimeType)
        defer { g_list_free_full(all) { g_object_unref($0) } }
        var found: [OpenInProgram] = []
        if let preferred, let program = program(UnsafeMutableRawPointer(preferred), mimeType) {
            found.append(program.ranked(.preferred))
        }
        var next = all
        while let element = next {
            if let program = program(element.pointee.data, mimeType), !found.contains(where: { $0.id == program.id }) {
                found.append(program)
            }
            next = element.pointee.next
        }
        return found.filter { $0.rank == .preferred } + found.filter { $0.rank == .owner }
            + found.filter { $0.rank == .alternate }
    }

    /// The program that a person or a script names: by a desktop entry, by its name, or by an executable. Programs that
    /// are registered for the type take precedence. Nil: none.
    static func program(named text: String, for mimeType: String) -> OpenInProgram? {
        let registered = programs(for: mimeType)
        func matching(_ programs: [OpenInProgram]) -> OpenInProgram? {
            programs.first { $0.id == text || $0.id == text + ".desktop" }
                ?? programs.first { $0.name.lowercased() == text.lowercased() }
                ?? programs.first { $0.id.lowercased().hasSuffix("." + text.lowercased() + ".desktop") }
        }
        if let program = matching(registered) ?? matching(allPrograms()) { return program }
        return executable(text).map { OpenInProgram(executable: $0) }
    }

    private static func allPrograms() -> [OpenInProgram] {
        let all = g_app_info_get_all()
        defer { g_list_free_full(all) { g_object_unref($0) } }
        var (found, next) = ([OpenInProgram](), all)
        while let element = next {
            if let program = program(element.pointee.data, "") { found.append(program) }
            next = element.pointee.next
        }
        return found
    }

    private static func executable(_ name: String) -> String? {
        if name.contains("/") {
            let full = name.hasPrefix("/") ? name : FileManager.default.currentDirectoryPath + "/" + name
            return isExecutable(full) ? full : nil
        }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.lazy.map { "\($0)/\(name)" }.first { $0.hasPrefix("/") && isExecutable($0) }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Nil: the program is not for use, or not on this desktop. Programs that menus do not show (`NoDisplay`) are
    /// included, because their entries exist for opening documents.
    private static func program(_ info: gpointer?, _ mimeType: String) -> OpenInProgram? {
        guard let info, let app = gio_desktop_app(info), g_desktop_app_info_get_is_hidden(app) == 0,
            g_desktop_app_info_get_show_in(app, nil) != 0, let id = g_app_info_get_id(app),
            let name = g_app_info_get_name(app)
        else { return nil }
        let exec = text(app, "Exec") ?? ""
        let isActivated = g_desktop_app_info_get_boolean(app, "DBusActivatable") != 0
        if exec.isEmpty && !isActivated { return nil }
        return OpenInProgram(
            id: String(cString: id), name: String(cString: name), icon: text(app, "Icon"),
            rank: owned(app).contains(mimeType) ? .owner : .alternate,
            surface: g_desktop_app_info_get_boolean(app, "Terminal") != 0 ? .terminal : .window, exec: exec,
            entry: g_desktop_app_info_get_filename(app).map { String(cString: $0) }, folder: text(app, "Path"),
            isActivatedOverDBus: isActivated)
    }

    private static func text(_ app: OpaquePointer, _ key: String) -> String? {
        guard let value = g_desktop_app_info_get_string(app, key) else { return nil }
        defer { g_free(value) }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    private static func owned(_ app: OpaquePointer) -> [String] {
        (text(app, ownerKey) ?? "").split(separator: ";").map(String.init)
    }
}
