import CGIO
import Foundation

/// A thread that runs a main loop of GLib. What GDBus has to say of a connection, it says there.
final class BusThread: Sendable {
    /// A pointer of GLib that several threads may use.
    ///
    /// (Unchecked: GMainContext, GMainLoop and GDBusConnection have locks of their own, says GLib's documentation.)
    struct Shared: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let context: Shared
    private let loop: Shared

    init() {
        let context = Shared(pointer: g_main_context_new())
        let loop = Shared(pointer: g_main_loop_new(context.pointer, 0))
        self.context = context
        self.loop = loop
        let thread = Thread {
            g_main_context_push_thread_default(context.pointer)
            g_main_loop_run(loop.pointer)
            g_main_context_pop_thread_default(context.pointer)
            g_main_loop_unref(loop.pointer)
            g_main_context_unref(context.pointer)
        }
        thread.name = "session bus"
        thread.start()
    }

    /// Runs something on the thread, in the order of the calls. After ``stop()`` nothing runs any more.
    func run(_ body: @escaping @Sendable () -> Void) {
        let source = g_idle_source_new()
        g_source_set_priority(source, G_PRIORITY_DEFAULT)
        let box = Unmanaged.passRetained(Box(body))
        g_source_set_callback(
            source,
            { data in
                Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(data!).takeUnretainedValue().value()
                return 0
            }, box.toOpaque(), releaseBox)
        g_source_attach(source, context.pointer)
        g_source_unref(source)
    }

    /// Ends the thread after what was to run before.
    func stop() {
        let loop = loop
        run { g_main_loop_quit(loop.pointer) }
    }
}

/// A value that C holds.
final class Box<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

/// A GDestroyNotify for a retained ``Box``.
let releaseBox: @convention(c) (UnsafeMutableRawPointer?) -> Void = { data in
    Unmanaged<AnyObject>.fromOpaque(data!).release()
}
