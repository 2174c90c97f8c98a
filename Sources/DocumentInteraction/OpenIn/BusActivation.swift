import CGIO
import Foundation
import Synchronization

/// Asks a program over D-Bus to open a document; the bus starts the program if it does not run.
///
/// Source: freedesktop.org, *Desktop Entry Specification* 1.5, "D-Bus Activation".
enum BusActivation {
    /// In milliseconds; a program may be slow to start.
    private static let patience: gint = 60_000

    enum Failure: Error {
        /// There is no session bus, or no program has the name.
        case unavailable(String)
        case refused(String)
    }

    /// Blocks.
    ///
    /// - Parameter data: entries for `platform-data`, besides this process's startup token.
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

    /// Returns when no program has the name any more. Blocks, and polls twice a second, which needs no main loop of
    /// GLib.
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
        // By default GLib ends this process with the bus.
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
