import CGIO
import Foundation
import Synchronization

/// Asking a program over D-Bus to open a document: whoever has its name, or is started to have it.
///
/// Source: freedesktop.org, *Desktop Entry Specification* 1.5, "D-Bus Activation".
enum BusActivation {
    /// In milliseconds: a program that is started may be slow to come.
    private static let patience: gint = 60_000

    enum Failure: Error {
        /// There is no session bus, or nobody has the name.
        case unavailable(String)
        case refused(String)
    }

    /// Blocks.
    ///
    /// - Parameter data: what goes into `platform-data`, besides the startup token of this process's own.
    static func open(_ uri: String, with program: OpenInProgram, data: [String: String]) throws(Failure) {
        let bus = try session()
        defer { g_object_unref(UnsafeMutableRawPointer(bus)) }
        guard let builder = gio_text_builder() else { throw .unavailable("no memory") }
        for (key, value) in data.sorted(by: { $0.key < $1.key }) { gio_add_text(builder, key, value) }
        let environment = ProcessInfo.processInfo.environment
        if let token = environment["XDG_ACTIVATION_TOKEN"] { gio_add_text(builder, "activation-token", token) }
        if let startup = environment["DESKTOP_STARTUP_ID"] { gio_add_text(builder, "desktop-startup-id", startup) }
        var error: UnsafeMutablePointer<GError>?
        let answer = g_dbus_connection_call_sync(
            bus, name(of: program), path(of: program), "org.freedesktop.Application", "Open",
            gio_open_arguments(uri, builder), nil, G_DBUS_CALL_FLAGS_NONE, patience, nil, &error)
        if let answer {
            g_variant_unref(answer)
            return
        }
        defer { g_clear_error(&error) }
        let message = error.flatMap { $0.pointee.message }.map { String(cString: $0) } ?? "no answer"
        throw gio_is_unknown_service(error) != 0 ? .unavailable(message) : .refused(message)
    }

    /// Returns when nobody has its name any more. Blocks; looks twice a second, so that it needs no loop of GLib's.
    static func waitForEnd(of program: OpenInProgram) {
        guard let bus = try? session() else { return }
        defer { g_object_unref(UnsafeMutableRawPointer(bus)) }
        while true {
            guard let owner = gio_name_owner(bus, name(of: program)) else { return }
            g_free(owner)
            usleep(500_000)
        }
    }

    private static func session() throws(Failure) -> OpaquePointer {
        var error: UnsafeMutablePointer<GError>?
        guard let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, &error) else {
            defer { g_clear_error(&error) }
            throw .unavailable(error.flatMap { $0.pointee.message }.map { String(cString: $0) } ?? "no session bus")
        }
        // (It would end this process with the bus.)
        g_dbus_connection_set_exit_on_close(bus, 0)
        return bus
    }

    private static func name(of program: OpenInProgram) -> String {
        program.id.hasSuffix(".desktop") ? String(program.id.dropLast(".desktop".count)) : program.id
    }

    static func path(of program: OpenInProgram) -> String {
        "/" + name(of: program).replacing(".", with: "/").replacing("-", with: "_")
    }
}
