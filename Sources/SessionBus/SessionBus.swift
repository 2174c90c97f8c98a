import CGIO
import Synchronization

/// A connection to a message bus, usually that of the user's session.
///
/// GDBus (GLib) speaks the protocol. All methods may be called from any task; none blocks.
package final class SessionBus: Sendable {
    let thread: BusThread
    let connection: BusThread.Shared
    private let closing: ClosedFlag

    /// Connects; does not start a bus.
    ///
    /// - Parameter address: as in `DBUS_SESSION_BUS_ADDRESS`; nil: the session's.
    /// - Throws: there is no bus, or it refuses this user.
    package static func connect(to address: String? = nil) async throws(BusError) -> SessionBus {
        let thread = BusThread()
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<SessionBus, BusError>, Never>) in
            thread.run { done.resume(returning: open(address, thread)) }
        }
        if case .failure = result { thread.stop() }
        return try result.get()
    }

    private init(_ connection: BusThread.Shared, _ thread: BusThread, _ closing: ClosedFlag) {
        self.connection = connection
        self.thread = thread
        self.closing = closing
    }

    /// On the thread, so that GDBus reports there; nobody else waits for it.
    private static func open(_ address: String?, _ thread: BusThread) -> Result<SessionBus, BusError> {
        var error: UnsafeMutablePointer<GError>?
        let found = address.map { g_strdup($0) } ?? g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SESSION, nil, &error)
        defer { g_free(found) }
        guard let found else { return .failure(BusError(taking: &error)) }
        let flags = GDBusConnectionFlags(
            rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
        guard let made = g_dbus_connection_new_for_address_sync(found, flags, nil, nil, &error) else {
            return .failure(BusError(taking: &error))
        }
        let closing = ClosedFlag()
        gio_on_closed(
            made, { data in Unmanaged<ClosedFlag>.fromOpaque(data!).takeUnretainedValue().set() },
            Unmanaged.passRetained(closing).toOpaque(), releaseBox)
        return .success(SessionBus(BusThread.Shared(pointer: made), thread, closing))
    }

    /// Ends the connection; calls that run fail.
    package func close() {
        thread.run { [connection] in
            g_dbus_connection_close_sync(connection.pointer, nil, nil)
        }
        closing.set()
    }

    deinit {
        let connection = connection
        thread.run {
            g_dbus_connection_close_sync(connection.pointer, nil, nil)
            g_object_unref(UnsafeMutableRawPointer(connection.pointer))
        }
        thread.stop()
    }

    /// Returns when the connection has ended: the session is over, or this side has closed it.
    package func ended() async { await closing.wait() }

    /// This connection's name on the bus, such as `:1.42`.
    package var uniqueName: String {
        g_dbus_connection_get_unique_name(connection.pointer).map { String(cString: $0) } ?? ""
    }

    // MARK: Calls

    /// Calls a method.
    ///
    /// - Parameter timeout: in seconds; nil: none, for a call that waits for a person.
    /// - Returns: the values of the answer.
    package func call(
        _ name: String, _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue] = [],
        timeout: Double? = 25
    ) async throws(BusError) -> [BusValue] {
        let milliseconds = timeout.map { Int32(min(max($0, 0), 1_000_000) * 1_000) } ?? Int32.max
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<[BusValue], BusError>, Never>) in
            thread.run { [connection] in
                g_dbus_connection_call(
                    connection.pointer, name, path, interface, method, BusValue.tuple(arguments), nil,
                    G_DBUS_CALL_FLAGS_NONE, milliseconds, nil,
                    { source, answer, data in
                        let done = Unmanaged<Box<CheckedContinuation<Result<[BusValue], BusError>, Never>>>
                            .fromOpaque(data!).takeRetainedValue().value
                        var error: UnsafeMutablePointer<GError>?
                        let connection = source.map { OpaquePointer($0) }
                        guard let values = g_dbus_connection_call_finish(connection, answer, &error) else {
                            return done.resume(returning: .failure(BusError(taking: &error)))
                        }
                        done.resume(returning: .success(BusValue(values).elements))
                        g_variant_unref(values)
                    }, Unmanaged.passRetained(Box(done)).toOpaque())
            }
        }
        return try result.get()
    }

    /// Emits a signal to everybody who listens. Signals and calls go out in order.
    package func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []) {
        thread.run { [connection] in
            g_dbus_connection_emit_signal(
                connection.pointer, nil, path, interface, member, BusValue.tuple(arguments), nil)
        }
    }

    // MARK: Names

    private static let bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")

    /// Takes a name for this connection, if nobody has it.
    ///
    /// - Returns: false: another program has it.
    package func own(_ name: String) async throws(BusError) -> Bool {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE; the answers are PRIMARY_OWNER and ALREADY_OWNER (D-Bus Specification).
        let answer = try await call(
            Self.bus.0, Self.bus.1, Self.bus.2, "RequestName", [.string(name), .uint32(4)])
        return [1, 4].contains(answer.first?.number)
    }

    /// The connection that has a name; nil: none.
    package func owner(of name: String) async -> String? {
        try? await call(Self.bus.0, Self.bus.1, Self.bus.2, "GetNameOwner", [.string(name)]).first?.text
    }

    /// The owner of a name whenever it changes; nil: none.
    package func owners(of name: String) -> AsyncMapSequence<AsyncStream<BusSignal>, String?> {
        signals(from: Self.bus.0, Self.bus.1, Self.bus.2, "NameOwnerChanged", first: name).map { signal in
            let owner = signal.arguments.dropFirst(2).first?.text ?? ""
            return owner.isEmpty ? nil : owner
        }
    }

    // MARK: Signals

    /// Signals that a reader who is late has waiting; the oldest ones are dropped.
    private static let mostSignals = 1_000

    /// Signals from now on, until the stream is dropped.
    ///
    /// - Parameters:
    ///   - sender: a name, or nil: anybody's.
    ///   - first: the value of a first argument that is a text; nil: any.
    package func signals(
        from sender: String?, _ path: String?, _ interface: String, _ member: String? = nil, first: String? = nil
    ) -> AsyncStream<BusSignal> {
        let (stream, signals) = AsyncStream.makeStream(
            of: BusSignal.self, bufferingPolicy: .bufferingNewest(Self.mostSignals))
        let subscription = Subscription()
        thread.run { [connection] in
            subscription.number.withLock { number in
                number = g_dbus_connection_signal_subscribe(
                    connection.pointer, sender, interface, member, path, first, G_DBUS_SIGNAL_FLAGS_NONE,
                    { _, sender, path, interface, member, arguments, data in
                        let signals = Unmanaged<Box<AsyncStream<BusSignal>.Continuation>>.fromOpaque(data!)
                            .takeUnretainedValue().value
                        signals.yield(
                            BusSignal(
                                sender: sender.map { String(cString: $0) } ?? "",
                                path: path.map { String(cString: $0) } ?? "",
                                interface: interface.map { String(cString: $0) } ?? "",
                                member: member.map { String(cString: $0) } ?? "",
                                arguments: arguments.map { BusValue($0).elements } ?? []))
                    }, Unmanaged.passRetained(Box(signals)).toOpaque(), releaseBox)
            }
        }
        // (The stream keeps the connection.)
        signals.onTermination = { [self] _ in
            // (After the subscription: the thread keeps the order.)
            thread.run { [connection] in
                subscription.number.withLock { g_dbus_connection_signal_unsubscribe(connection.pointer, $0) }
            }
        }
        return stream
    }
}

/// GDBus's number of a subscription; 0: none yet.
private final class Subscription: Sendable {
    let number = Mutex<UInt32>(0)
}

/// Whether the connection has ended, and who waits for that.
private final class ClosedFlag: Sendable {
    private let state = Mutex<(isSet: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func set() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isSet = true
            return state.waiting
        }
        for one in waiting { one.resume() }
    }

    func wait() async {
        await withCheckedContinuation { one in
            let isSet = state.withLock { state in
                if !state.isSet { state.waiting.append(one) }
                return state.isSet
            }
            if isSet { one.resume() }
        }
    }
}

extension BusError {
    /// Frees the error.
    init(taking error: inout UnsafeMutablePointer<GError>?) {
        defer { g_clear_error(&error) }
        guard let error else {
            self.init(Self.failed, "no answer")
            return
        }
        let name = g_dbus_error_get_remote_error(error)
        defer { g_free(name) }
        // (Only the message without GDBus's prefix is for people.)
        g_dbus_error_strip_remote_error(error)
        let message = error.pointee.message.map { String(cString: $0) } ?? "no answer"
        self.init(name.map { String(cString: $0) } ?? Self.failed, message)
    }
}

/// A signal that came.
package struct BusSignal: Sendable {
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]
}
