import FileProvider
import Testing

@Suite struct IdentifierTests {
    /// A store may have both, and paths are identifiers where there are no others.
    @Test func identifiersAreToldApartByTheirBytes() {
        let (composed, decomposed) = (ItemIdentifier("caf\u{e9}"), ItemIdentifier("cafe\u{301}"))
        #expect(composed.rawValue == decomposed.rawValue && composed != decomposed)
        #expect(composed == ItemIdentifier("caf\u{e9}"))
        #expect(Set([composed, decomposed, ItemIdentifier("caf\u{e9}")]).count == 2)
    }
}
