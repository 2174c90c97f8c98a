import CGIO

/// An object that this process shows on the bus.
package protocol BusObject: Sendable {
    /// Its interfaces, as the XML of the D-Bus Specification ("Introspection Data Format"): `<node>…</node>`.
    static var introspection: String { get }

    /// Carries out a method; several may run at once.
    func call(_ call: BusCall) async throws(BusError) -> [BusValue]

    /// The values of the properties of an interface.
    func properties(of interface: String) async -> [String: BusValue]
}

/// A call that came. GDBus has checked its arguments against the introspection.
package struct BusCall: Sendable {
    package var sender: String
    package var path: String
    package var interface: String
    package var method: String
    package var arguments: [BusValue]
}

extension SessionBus {
    /// Shows an object for as long as the connection lasts. Calls of other programs may come from now on.
    ///
    /// - Throws: something else is at the path already, or the introspection is malformed.
    package func export(_ object: some BusObject, at path: String) async throws(BusError) {
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<Void, BusError>, Never>) in
            thread.run { [connection] in
                done.resume(
                    returning: Self.register(Exported(object), type(of: object).introspection, path, connection))
            }
        }
        return try result.get()
    }

    private static func register(
        _ exported: Exported, _ introspection: String, _ path: String, _ connection: BusThread.Shared
    ) -> Result<Void, BusError> {
        var error: UnsafeMutablePointer<GError>?
        guard let node = g_dbus_node_info_new_for_xml(introspection, &error) else {
            return .failure(BusError(taking: &error))
        }
        defer { g_dbus_node_info_unref(node) }
        // Without functions for properties GDBus sends the calls of org.freedesktop.DBus.Properties here too.
        var table = GDBusInterfaceVTable()
        table.method_call = { _, sender, path, interface, method, arguments, invocation, data in
            let exported = Unmanaged<Exported>.fromOpaque(data!).takeUnretainedValue()
            let call = BusCall(
                sender: sender.map { String(cString: $0) } ?? "", path: path.map { String(cString: $0) } ?? "",
                interface: interface.map { String(cString: $0) } ?? "",
                method: method.map { String(cString: $0) } ?? "",
                arguments: arguments.map { BusValue($0).elements } ?? [])
            exported.answer(call, Invocation(pointer: invocation!))
        }
        var index = 0
        while let interface = node.pointee.interfaces?[index] {
            let number = g_dbus_connection_register_object(
                connection.pointer, path, interface, &table, Unmanaged.passRetained(exported).toOpaque(), releaseBox,
                &error)
            if number == 0 { return .failure(BusError(taking: &error)) }
            index += 1
        }
        return .success(())
    }
}

/// A call that waits for its answer.
///
/// (Unchecked: exactly one task has it, and gives the answer once; GDBus lets that happen on any thread.)
private struct Invocation: @unchecked Sendable {
    let pointer: OpaquePointer
}

private final class Exported: Sendable {
    private let object: any BusObject

    init(_ object: any BusObject) { self.object = object }

    func answer(_ call: BusCall, _ invocation: Invocation) {
        Task {
            do throws(BusError) {
                let values = try await values(for: call)
                g_dbus_method_invocation_return_value(invocation.pointer, BusValue.tuple(values))
            } catch {
                g_dbus_method_invocation_return_dbus_error(invocation.pointer, error.name, error.message)
            }
        }
    }

    private func values(for call: BusCall) async throws(BusError) -> [BusValue] {
        guard call.interface == "org.freedesktop.DBus.Properties" else { return try await object.call(call) }
        let all = await object.properties(of: call.arguments.first?.text ?? "")
        switch call.method {
        case "GetAll": return [.options(all)]
        case "Get":
            let name = call.arguments.dropFirst().first?.text ?? ""
            guard let value = all[name] else { throw BusError(BusError.unknownProperty, "no property \(name)") }
            return [.variant(value)]
        default: throw BusError(BusError.readOnlyProperty, "the properties cannot be set")
        }
    }
}
