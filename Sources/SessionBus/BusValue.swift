import CGIO

/// A value of D-Bus (D-Bus Specification, "Type System"). Descriptors are not among them.
package indirect enum BusValue: Sendable, Hashable {
    case bool(Bool)
    case byte(UInt8)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    /// An object's path.
    case path(String)
    case signature(String)
    case variant(BusValue)
    /// - Parameter of: the elements' signature, which an empty array has too.
    case array(of: String, [BusValue])
    /// An element of an array that is a dictionary.
    case entry(BusValue, BusValue)
    case tuple([BusValue])

    /// `as`
    package static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map(BusValue.string)) }

    /// `a{sv}`, in the order of the keys.
    package static func options(_ values: [String: BusValue]) -> BusValue {
        .array(
            of: "{sv}", values.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .variant($0.value)) })
    }

    /// The type, as in a message.
    package var typeSignature: String {
        switch self {
        case .bool: "b"
        case .byte: "y"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .path: "o"
        case .signature: "g"
        case .variant: "v"
        case .array(let of, _): "a" + of
        case .entry(let key, let value): "{\(key.typeSignature)\(value.typeSignature)}"
        case .tuple(let values): "(" + values.map(\.typeSignature).joined() + ")"
        }
    }

    // MARK: What a program looks for

    /// The text of a string, a path or a signature; that of a variant is its value's.
    package var text: String? {
        switch self {
        case .string(let text), .path(let text), .signature(let text): text
        case .variant(let value): value.text
        default: nil
        }
    }

    /// Any whole number that fits; that of a variant is its value's.
    package var number: Int? {
        switch self {
        case .byte(let number): Int(number)
        case .int16(let number): Int(number)
        case .uint16(let number): Int(number)
        case .int32(let number): Int(number)
        case .uint32(let number): Int(number)
        case .int64(let number): Int(exactly: number)
        case .uint64(let number): Int(exactly: number)
        case .variant(let value): value.number
        default: nil
        }
    }

    package var truth: Bool? {
        switch self {
        case .bool(let truth): truth
        case .variant(let value): value.truth
        default: nil
        }
    }

    /// The elements of an array or a tuple; of anything else, none.
    package var elements: [BusValue] {
        switch self {
        case .array(_, let values), .tuple(let values): values
        case .variant(let value): value.elements
        default: []
        }
    }

    /// A dictionary's value for a key that is a text, without the variant around it.
    package subscript(key: String) -> BusValue? {
        for case .entry(let name, let value) in elements where name.text == key {
            if case .variant(let inner) = value { return inner }
            return value
        }
        return nil
    }
}

// MARK: GLib's values

extension BusValue {
    /// A new floating reference.
    ///
    /// Text ends before a NUL, which D-Bus has not. A path or a signature that is none, and an array whose elements
    /// have other
    /// types, end this process: GLib would.
    var glibValue: OpaquePointer {
        switch self {
        case .bool(let value): g_variant_new_boolean(value ? 1 : 0)
        case .byte(let value): g_variant_new_byte(value)
        case .int16(let value): g_variant_new_int16(value)
        case .uint16(let value): g_variant_new_uint16(value)
        case .int32(let value): g_variant_new_int32(value)
        case .uint32(let value): g_variant_new_uint32(value)
        case .int64(let value): g_variant_new_int64(Int(value))
        case .uint64(let value): g_variant_new_uint64(UInt(value))
        case .double(let value): g_variant_new_double(value)
        case .string(let value): g_variant_new_string(value)
        case .path(let value): g_variant_new_object_path(value)
        case .signature(let value): g_variant_new_signature(value)
        case .variant(let value): g_variant_new_variant(value.glibValue)
        case .array(let of, let values): Self.array(of, values)
        case .entry(let key, let value): g_variant_new_dict_entry(key.glibValue, value.glibValue)
        case .tuple(let values): Self.tuple(values)
        }
    }

    private static func array(_ of: String, _ values: [BusValue]) -> OpaquePointer {
        let type = g_variant_type_new(of)
        defer { g_variant_type_free(type) }
        let children: [OpaquePointer?] = values.map(\.glibValue)
        return g_variant_new_array(type, children, gsize(children.count))
    }

    static func tuple(_ values: [BusValue]) -> OpaquePointer {
        let children: [OpaquePointer?] = values.map(\.glibValue)
        return g_variant_new_tuple(children, gsize(children.count))
    }

    /// A descriptor becomes its index in the message. GLib has checked the message, also how deep it is (64).
    init(_ value: OpaquePointer) {
        let type = String(cString: g_variant_get_type_string(value))
        switch type.utf8.first.map({ Character(Unicode.Scalar($0)) }) {
        case "b": self = .bool(g_variant_get_boolean(value) != 0)
        case "y": self = .byte(g_variant_get_byte(value))
        case "n": self = .int16(g_variant_get_int16(value))
        case "q": self = .uint16(g_variant_get_uint16(value))
        case "i": self = .int32(g_variant_get_int32(value))
        case "h": self = .int32(g_variant_get_handle(value))
        case "u": self = .uint32(g_variant_get_uint32(value))
        case "x": self = .int64(Int64(g_variant_get_int64(value)))
        case "t": self = .uint64(UInt64(g_variant_get_uint64(value)))
        case "d": self = .double(g_variant_get_double(value))
        case "s": self = .string(String(cString: g_variant_get_string(value, nil)))
        case "o": self = .path(String(cString: g_variant_get_string(value, nil)))
        case "g": self = .signature(String(cString: g_variant_get_string(value, nil)))
        case "v": self = .variant(Self.children(of: value)[0])
        case "a": self = .array(of: String(type.dropFirst()), Self.children(of: value))
        case "{":
            let pair = Self.children(of: value)
            self = .entry(pair[0], pair[1])
        default: self = .tuple(Self.children(of: value))
        }
    }

    private static func children(of value: OpaquePointer) -> [BusValue] {
        (0..<g_variant_n_children(value)).map { index in
            let child = g_variant_get_child_value(value, index)!
            defer { g_variant_unref(child) }
            return BusValue(child)
        }
    }
}
