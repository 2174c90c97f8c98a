import FileProvider
import Testing

/// Which attributes an item may have.
@Suite struct ExtendedAttributeTests {
    private func isAllowed(_ name: String, bytes count: Int = 1) -> Bool {
        ExtendedAttribute.problem(name: name, value: [UInt8](repeating: 0, count: count)) == nil
    }

    @Test func names() {
        for name in ["user.a", "user.größe", "user..", "user. ", "user.\u{301}x"] { #expect(isAllowed(name)) }
        for name in ["", "user", "user.", "User.a", "security.a", "trusted.a", "system.a", "a", "user.a\0"] {
            #expect(!isAllowed(name), "\(name)")
        }
    }

    @Test func limits() {
        #expect(isAllowed("user." + String(repeating: "x", count: 250)))
        #expect(!isAllowed("user." + String(repeating: "x", count: 251)))
        // Bytes are counted, not characters.
        #expect(!isAllowed("user." + String(repeating: "ä", count: 126)))
        #expect(isAllowed("user.a", bytes: 0))
        #expect(isAllowed("user.a", bytes: 65_536))
        #expect(!isAllowed("user.a", bytes: 65_537))
    }
}
