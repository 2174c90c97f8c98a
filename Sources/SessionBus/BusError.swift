/// A call that failed.
package struct BusError: Error, Sendable, CustomStringConvertible {
    /// D-Bus's name of the error, such as `org.freedesktop.DBus.Error.ServiceUnknown`.
    package var name: String
    /// For people.
    package var message: String

    package init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    package var description: String { message }

    package static let failed = "org.freedesktop.DBus.Error.Failed"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    package static let readOnlyProperty = "org.freedesktop.DBus.Error.PropertyReadOnly"
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
}
